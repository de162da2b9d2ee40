"""All pairs of points of two domains with different coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._patch import (
    ON_BOUNDARY,
    AbstractFace,
    AbstractPatch,
    Fixed,
    Placed,
    Points,
    Units,
)


class Product(AbstractDomain):
    """`first * second`: `Box(t=(0, 1)) * Disk(1.0)` is a disk over time."""

    first: AbstractDomain
    second: AbstractDomain

    def __check_init__(self):
        """The coordinates must be told apart."""
        parts = (self.first, self.second)
        for part in parts:
            if not isinstance(part, AbstractDomain):
                raise InputError(f"`Product` is of two domains, got {part!r}.")
        twice = sorted(set(self.first.coordinates) & set(self.second.coordinates))
        if twice:
            raise InputError(
                "`Product` is of two domains with different coordinates, but both "
                f"have {', '.join(twice)}."
            )
        check_names("Product", self.coordinates)
        if all(part.num_available is not None for part in parts):
            raise InputError("`Product` is of two lists of points: list their pairs.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Those of the first, then those of the second."""
        return (*self.first.coordinates, *self.second.coordinates)

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """Those of the part that has the coordinate."""
        self.position(coordinate)
        is_first = coordinate in self.first.coordinates
        return (self.first if is_first else self.second).bounds(coordinate)

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """In the part it is less deep in."""
        cut = len(self.first.coordinates)
        deep = (self.first.depth(points[:, :cut]), self.second.depth(points[:, cut:]))
        return np.minimum(*deep)

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """The parts side by side."""
        parts = (self.first, self.second)
        own = [{n: v for n, v in fixed.items() if n in p.coordinates} for p in parts]
        return ProductInside(*(p.inside(f) for p, f in zip(parts, own, strict=True)))

    def faces(self) -> list[AbstractFace]:
        """The faces of each part with the inside of the other."""
        ends = [ProductFace(face, self.second, True) for face in self.first.faces()]
        walls = [ProductFace(face, self.first, False) for face in self.second.faces()]
        return [*ends, *walls]


@dataclass(frozen=True)
class ProductInside(AbstractPatch):
    """Two patches side by side."""

    first: AbstractPatch
    second: AbstractPatch

    @property
    def measure(self) -> float:
        """The product."""
        return self.first.measure * self.second.measure

    @property
    def num_units(self) -> int:
        """The sum."""
        return self.first.num_units + self.second.num_units

    @property
    def num_members(self) -> int | None:
        """Finitely many only if the other is a point."""
        parts = (self.first, self.second)
        if any(p.num_members is None and p.num_units > 0 for p in parts):
            return None
        found = [p.num_members for p in parts if p.num_members is not None]
        return found[0] if found else None

    def place(self, units: Units) -> Placed:
        """Each from its own numbers."""
        cut = self.first.num_units
        one, two = self.first.place(units[:, :cut]), self.second.place(units[:, cut:])
        return Placed(
            np.concatenate([one.points, two.points], axis=1),
            np.concatenate([one.normals, two.normals], axis=1),
            one.is_kept & two.is_kept,
        )


@dataclass(frozen=True)
class ProductFace(AbstractFace):
    """A face of one part with the inside of the other."""

    face: AbstractFace
    other: AbstractDomain
    is_first: bool

    @property
    def size(self) -> float:
        """That of the shape behind the face."""
        return self.face.size

    @property
    def plane(self) -> tuple[str, float] | None:
        """That of the face."""
        return self.face.plane

    @property
    def measure(self) -> float:
        """The product."""
        return self._patch().measure

    @property
    def num_units(self) -> int:
        """The sum."""
        return self._patch().num_units

    @property
    def num_members(self) -> int | None:
        """Finitely many only if the other is a point."""
        return self._patch().num_members

    def place(self, units: Units) -> Placed:
        """Each from its own numbers; normals have no part in the other."""
        return self._patch().place(units)

    def normals_at(self, points: Points) -> Points:
        """Those of the face, where the other coordinates are in their domain."""
        dim = len(self.other.coordinates)
        cut = points.shape[1] - dim if self.is_first else dim
        parts = points[:, :cut], points[:, cut:]
        mine, others = parts if self.is_first else parts[::-1]
        normals, still = self.face.normals_at(mine), np.zeros((len(points), dim))
        is_on = np.isfinite(normals[:, 0])
        is_on &= self.other.depth(others) >= -ON_BOUNDARY
        both = [normals, still] if self.is_first else [still, normals]
        return np.where(is_on[:, None], np.concatenate(both, axis=1), np.nan)

    def _patch(self) -> ProductInside:
        other = self.other.inside({})
        both = (self.face, other) if self.is_first else (other, self.face)
        return ProductInside(*both)
