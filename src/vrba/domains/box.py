"""A product of intervals."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import InputError, is_number
from ._base import AbstractDomain, check_names
from ._regions import (
    ON_BOUNDARY,
    AbstractFace,
    AbstractRegion,
    BoundingBoxRegion,
    CubePoints,
    FixedValues,
    MappedPoints,
    Points,
)

Ends = tuple[float | int, float | int] | list[float | int]


class Box(AbstractDomain):
    """`Box(t=(0, 1), x=(-1, 1))`: each coordinate with its lower and upper end."""

    ends: tuple[tuple[str, float, float], ...]

    def __init__(self, **ends: Ends):
        if not ends:
            raise InputError("`Box()` has no coordinate: write `Box(x=(0, 1))`.")
        check_names("Box", tuple(ends))
        for name, pair in ends.items():
            is_pair = isinstance(pair, tuple | list) and len(pair) == 2
            is_pair = is_pair and all(map(is_number, pair))
            if not is_pair or not -np.inf < pair[0] < pair[1] < np.inf:
                raise InputError(
                    f"`Box({name}=...)` must be a lower and a larger upper end, got "
                    f"{pair!r}: write `Box({name}=(0, 1))`."
                )
        self.ends = tuple((n, float(lo), float(hi)) for n, (lo, hi) in ends.items())

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.ends)

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        return self.ends[self.position(coordinate)][1:]

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """Return the distance from the nearest end, relative to the interval."""
        lower, upper = self.corners()
        return np.min(np.minimum(points - lower, upper - points) / (upper - lower), 1)

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        return BoundingBoxRegion(self, fixed)

    @override
    def faces(self) -> list[AbstractFace]:
        sides = (False, True)
        return [BoxFace(self, n, side) for n in self.coordinates for side in sides]

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all lower and all upper ends."""
        lower = np.array([lo for _, lo, _ in self.ends])
        return lower, np.array([hi for _, _, hi in self.ends])


@dataclass(frozen=True)
class BoxFace(AbstractFace):
    """The face of a box at the lower or upper end of a coordinate."""

    box: Box
    coordinate: str
    is_upper: bool

    @property
    @override
    def size(self) -> float:
        lower, upper = self.box.bounds(self.coordinate)
        return upper - lower

    @property
    @override
    def plane(self) -> tuple[str, float]:
        return self.coordinate, self.box.bounds(self.coordinate)[self.is_upper]

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
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        points = self._region().map_cube(cube_points).points
        normals = np.tile(self._normal(), (len(points), 1))
        return MappedPoints(points, normals, np.ones(len(points), bool))

    @override
    def normals_at(self, points: Points) -> Points:
        name, value = self.plane
        distance = points[:, self.box.position(name)] - value
        is_on = np.abs(distance) <= ON_BOUNDARY * self.size
        is_on &= self.box.depth(points) >= -ON_BOUNDARY
        return np.where(is_on[:, None], self._normal(), np.nan)

    def _region(self) -> AbstractRegion:
        name, value = self.plane
        return self.box.interior({name: value})

    def _normal(self) -> np.ndarray:
        normal = np.zeros(len(self.box.ends))
        normal[self.box.position(self.coordinate)] = 1.0 if self.is_upper else -1.0
        return normal
