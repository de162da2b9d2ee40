"""Unions, intersections and differences of two domains."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import InputError
from ._base import AbstractDomain
from ._regions import (
    PROBE_STEP,
    AbstractFace,
    AbstractRegion,
    BoundingBoxRegion,
    CubePoints,
    FixedValues,
    MappedPoints,
    Points,
    RestrictedRegion,
)


class AbstractCombination(AbstractDomain):
    """Two domains with the same coordinates.

    Its boundary consists of the points on faces of either that have the inside on
    exactly one side.
    """

    first: eqx.AbstractVar[AbstractDomain]
    second: eqx.AbstractVar[AbstractDomain]

    def __check_init__(self):
        kind = type(self).__name__
        for part in (self.first, self.second):
            if not isinstance(part, AbstractDomain):
                raise InputError(f"`{kind}` needs two domains, got {part!r}.")
            if part.num_available is not None:
                raise InputError(
                    f"`{kind}` needs two shapes, but a {type(part).__name__} is a list "
                    "of points: select from its points instead."
                )
        names = [", ".join(part.coordinates) for part in (self.first, self.second)]
        if names[0] != names[1]:
            raise InputError(
                f"`{kind}` needs two domains with the same coordinates, got "
                f"({names[0]}) and ({names[1]}). A product `*` adds coordinates."
            )

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return self.first.coordinates

    @override
    def faces(self) -> list[AbstractFace]:
        """Return the faces of both; where they coincide, those of the first."""
        first = [CombinedFace(face, self, None) for face in self.first.faces()]
        second = [CombinedFace(f, self, self.first) for f in self.second.faces()]
        return [*first, *second]


class Union(AbstractCombination):
    """`first | second`: the points of either."""

    first: AbstractDomain
    second: AbstractDomain

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        one, two = self.first.bounds(coordinate), self.second.bounds(coordinate)
        return min(one[0], two[0]), max(one[1], two[1])

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        return np.maximum(self.first.depth(points), self.second.depth(points))

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        return BoundingBoxRegion(self, fixed)


class Intersection(AbstractCombination):
    """`first & second`: the points of both."""

    first: AbstractDomain
    second: AbstractDomain

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        one, two = self.first.bounds(coordinate), self.second.bounds(coordinate)
        lower, upper = max(one[0], two[0]), min(one[1], two[1])
        if lower >= upper:
            raise InputError(
                "The intersection is empty: its parts have disjoint intervals of "
                f"`{coordinate}`, {one} and {two}."
            )
        return lower, upper

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        return np.minimum(self.first.depth(points), self.second.depth(points))

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        """Use rejection from either part or the bounding box, whichever is smallest."""
        regions = [BoundingBoxRegion(self, fixed), self.first.interior(fixed)]
        regions.append(self.second.interior(fixed))
        return RestrictedRegion(min(regions, key=lambda region: region.measure), self)


class Difference(AbstractCombination):
    """`first - second`: the points of the first that are not inside the second."""

    first: AbstractDomain
    second: AbstractDomain

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        return self.first.bounds(coordinate)

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        return np.minimum(self.first.depth(points), -self.second.depth(points))

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        return RestrictedRegion(self.first.interior(fixed), self)


@dataclass(frozen=True)
class CombinedFace(AbstractFace):
    """The points of a face with the inside of `domain` on exactly one side.

    Points on the boundary of `other` are excluded.
    """

    face: AbstractFace
    domain: AbstractDomain
    other: AbstractDomain | None

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
        return self.face.measure

    @property
    @override
    def cube_dim(self) -> int:
        return self.face.cube_dim

    @property
    @override
    def num_available(self) -> int | None:
        return self.face.num_available

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        points, normals, is_kept = self.face.map_cube(cube_points)
        normals = self._orient(points, normals)
        is_kept = is_kept & np.isfinite(normals[:, 0])
        if self.other is not None:
            is_kept &= ~np.isfinite(self.other.normals_at(points)[:, 0])
        return MappedPoints(points, np.where(is_kept[:, None], normals, 0.0), is_kept)

    @override
    def normals_at(self, points: Points) -> Points:
        return self._orient(points, self.face.normals_at(points))

    def _orient(self, points: Points, normals: Points) -> Points:
        """Orient normals outwards; NaN if both sides are inside or both outside.

        Points with NaN are on no face, so the domain is not asked about them.
        """
        is_on = np.isfinite(normals[:, 0])
        if not np.all(is_on):
            found = np.full_like(normals, np.nan)
            if np.any(is_on):
                found[is_on] = self._orient(points[is_on], normals[is_on])
            return found
        step = PROBE_STEP * min(self.face.size, self.domain.extent) * normals
        is_inside_behind = self.domain.contains(points - step)
        is_inside_ahead = self.domain.contains(points + step)
        sign = np.where(is_inside_ahead, -1.0, 1.0)
        is_boundary = is_inside_behind != is_inside_ahead
        return np.where(is_boundary[:, None], sign[:, None] * normals, np.nan)
