"""The Cartesian product of two domains with different coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._regions import (
    ON_BOUNDARY,
    AbstractFace,
    AbstractRegion,
    CubePoints,
    FixedValues,
    MappedPoints,
    Points,
)


class Product(AbstractDomain):
    """`first * second`: `Box(t=(0, 1)) * Disk(1.0)` is a disk over time."""

    first: AbstractDomain
    second: AbstractDomain

    def __check_init__(self):
        parts = (self.first, self.second)
        for part in parts:
            if not isinstance(part, AbstractDomain):
                raise InputError(f"`Product` needs two domains, got {part!r}.")
        shared = sorted(set(self.first.coordinates) & set(self.second.coordinates))
        if shared:
            raise InputError(
                "`Product` needs two domains with different coordinates, but both "
                f"have {', '.join(shared)}."
            )
        check_names("Product", self.coordinates)
        if all(part.num_available is not None for part in parts):
            raise InputError(
                "`Product` needs at least one shape, got two lists of points: make one "
                "`PointCloud` of their pairs."
            )

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return (*self.first.coordinates, *self.second.coordinates)

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        self.position(coordinate)
        is_first = coordinate in self.first.coordinates
        return (self.first if is_first else self.second).bounds(coordinate)

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """Return the smaller of both depths."""
        cut = len(self.first.coordinates)
        first, second = points[:, :cut], points[:, cut:]
        return np.minimum(self.first.depth(first), self.second.depth(second))

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        parts = (self.first, self.second)
        own = [{n: v for n, v in fixed.items() if n in p.coordinates} for p in parts]
        return ProductRegion(*(p.interior(f) for p, f in zip(parts, own, strict=True)))

    @override
    def faces(self) -> list[AbstractFace]:
        """Combine the faces of each part with the inside of the other."""
        ends = [ProductFace(face, self.second, True) for face in self.first.faces()]
        walls = [ProductFace(face, self.first, False) for face in self.second.faces()]
        return [*ends, *walls]


@dataclass(frozen=True)
class ProductRegion(AbstractRegion):
    """The product of two regions."""

    first: AbstractRegion
    second: AbstractRegion

    @property
    @override
    def measure(self) -> float:
        return self.first.measure * self.second.measure

    @property
    @override
    def cube_dim(self) -> int:
        return self.first.cube_dim + self.second.cube_dim

    @property
    @override
    def num_available(self) -> int | None:
        parts = (self.first, self.second)
        if any(p.num_available is None and p.cube_dim > 0 for p in parts):
            return None
        found = [p.num_available for p in parts if p.num_available is not None]
        return found[0] if found else None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        cut = self.first.cube_dim
        one = self.first.map_cube(cube_points[:, :cut])
        two = self.second.map_cube(cube_points[:, cut:])
        return MappedPoints(
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
    @override
    def size(self) -> float:
        return self.face.size

    @property
    @override
    def plane(self) -> tuple[str, float] | None:
        return self.face.plane

    @property
    @override
    def measure(self) -> float:
        return self._region().measure

    @property
    @override
    def cube_dim(self) -> int:
        return self._region().cube_dim

    @property
    @override
    def num_available(self) -> int | None:
        return self._region().num_available

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        return self._region().map_cube(cube_points)

    @override
    def normals_at(self, points: Points) -> Points:
        """Return normals where the other coordinates are in their domain."""
        dim = len(self.other.coordinates)
        cut = points.shape[1] - dim if self.is_first else dim
        parts = points[:, :cut], points[:, cut:]
        own, others = parts if self.is_first else parts[::-1]
        normals, zeros = self.face.normals_at(own), np.zeros((len(points), dim))
        is_on = np.isfinite(normals[:, 0])
        is_on &= self.other.depth(others) >= -ON_BOUNDARY
        both = [normals, zeros] if self.is_first else [zeros, normals]
        return np.where(is_on[:, None], np.concatenate(both, axis=1), np.nan)

    def _region(self) -> ProductRegion:
        other = self.other.interior({})
        both = (self.face, other) if self.is_first else (other, self.face)
        return ProductRegion(*both)
