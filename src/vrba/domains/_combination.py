"""What shapes made of two others share: a boundary, found by looking at its sides."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from ..core import InputError
from ._base import AbstractDomain
from ._patch import PROBE, AbstractFace, Placed, Points, Units


class AbstractCombination(AbstractDomain):
    """Two domains with the same coordinates."""

    first: eqx.AbstractVar[AbstractDomain]
    second: eqx.AbstractVar[AbstractDomain]

    def __check_init__(self):
        """Points of one must be points of the other."""
        kind = type(self).__name__
        for part in (self.first, self.second):
            if not isinstance(part, AbstractDomain):
                raise InputError(f"`{kind}` is of two domains, got {part!r}.")
            if part.num_available is not None:
                raise InputError(
                    f"`{kind}` is of two shapes, but a {type(part).__name__} is a list "
                    "of points: choose among the points themselves."
                )
        names = [", ".join(part.coordinates) for part in (self.first, self.second)]
        if names[0] != names[1]:
            raise InputError(
                f"`{kind}` is of two domains with the same coordinates, got "
                f"({names[0]}) and ({names[1]}). A product `*` adds coordinates."
            )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Those of both."""
        return self.first.coordinates

    def faces(self) -> list[AbstractFace]:
        """What is left of the faces of both; where they coincide, of the first's."""
        first = [CombinedFace(face, self, None) for face in self.first.faces()]
        second = [CombinedFace(f, self, self.first) for f in self.second.faces()]
        return [*first, *second]


@dataclass(frozen=True)
class CombinedFace(AbstractFace):
    """The points of a face with the inside of `domain` on exactly one side of it,
    without those on the boundary of `other`."""

    face: AbstractFace
    domain: AbstractDomain
    other: AbstractDomain | None

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
        """That of the whole face."""
        return self.face.measure

    @property
    def num_units(self) -> int:
        """As the face."""
        return self.face.num_units

    @property
    def num_members(self) -> int | None:
        """As the face."""
        return self.face.num_members

    def place(self, units: Units) -> Placed:
        """As the face, with normals that point out of the domain."""
        points, normals, is_kept = self.face.place(units)
        normals = self._turned(points, normals)
        is_kept = is_kept & np.isfinite(normals[:, 0])
        if self.other is not None:
            is_kept &= ~np.isfinite(self.other.normals_at(points)[:, 0])
        return Placed(points, np.where(is_kept[:, None], normals, 0.0), is_kept)

    def normals_at(self, points: Points) -> Points:
        """Those of the face, or turned."""
        return self._turned(points, self.face.normals_at(points))

    def _turned(self, points: Points, normals: Points) -> Points:
        """Normals turned outwards; NaN where both sides are in, or both out."""
        step = PROBE * min(self.face.size, self.domain.extent) * normals
        is_in_behind = self.domain.contains(points - step)
        is_in_before = self.domain.contains(points + step)
        sign = np.where(is_in_before, -1.0, 1.0)
        is_edge = is_in_behind != is_in_before
        return np.where(is_edge[:, None], sign[:, None] * normals, np.nan)
