"""Balls of any dimension: a ball, and a disk in the plane."""

import math
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from typing_extensions import override

from ..core import InputError
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

# A ball fills half of its bounding box in three dimensions, a third in four.
_MAX_DIM_OF_REJECTION = 3


class AbstractBall(AbstractDomain):
    """The points at a distance of at most `radius` from `centre`."""

    radius: eqx.AbstractVar[float]
    centre: eqx.AbstractVar[tuple[tuple[str, float], ...]]

    def __check_init__(self):
        kind = type(self).__name__
        check_names(kind, self.coordinates)
        if not 0 < self.radius < math.inf:
            raise InputError(
                f"`radius` must be positive and finite, got {self.radius}."
            )
        for name, value in self.centre:
            if not math.isfinite(value):
                raise InputError(f"`{kind}({name}=...)` must be finite, got {value}.")

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.centre)

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        middle = self.centre[self.position(coordinate)][1]
        return middle - self.radius, middle + self.radius

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """Return the distance from the sphere, relative to the radius."""
        return 1 - np.linalg.norm(points - self.middle(), axis=1) / self.radius

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        """Use rejection in up to three dimensions, an exact map in more."""
        if fixed or len(self.centre) <= _MAX_DIM_OF_REJECTION:
            return BoundingBoxRegion(self, fixed)
        return BallInterior(self)

    @override
    def faces(self) -> list[AbstractFace]:
        return [Sphere(self)]

    def middle(self) -> np.ndarray:
        """Return the centre as an array."""
        return np.array([value for _, value in self.centre])

    def volume(self) -> float:
        """Return `pi^(n/2) radius^n / gamma(n/2 + 1)` for `n` coordinates."""
        half = len(self.centre) / 2
        return math.pi**half / math.gamma(half + 1) * self.radius ** len(self.centre)


class Ball(AbstractBall):
    """`Ball(0.5, x=0, y=1, z=0)`: radius and centre, in any dimension."""

    radius: float
    centre: tuple[tuple[str, float], ...]

    def __init__(self, radius: float | int, **centre: float | int):
        if not centre:
            raise InputError("`Ball` has no centre: write `Ball(1.0, x=0, y=0, z=0)`.")
        self.radius = float(radius)
        self.centre = tuple((name, float(value)) for name, value in centre.items())


class Disk(AbstractBall):
    """`Disk(0.5, x=0, y=1)`: radius and centre, by default `x = y = 0`."""

    radius: float
    centre: tuple[tuple[str, float], ...]

    def __init__(self, radius: float | int, **centre: float | int):
        centre = centre or {"x": 0.0, "y": 0.0}
        if len(centre) != 2:
            raise InputError(
                f"`Disk` has two coordinates, got {', '.join(centre)}: use `Ball` for "
                "any other number."
            )
        self.radius = float(radius)
        self.centre = tuple((name, float(value)) for name, value in centre.items())


@dataclass(frozen=True)
class BallInterior(AbstractRegion):
    """The inside of a ball: a direction and a distance from the centre."""

    ball: AbstractBall

    @property
    @override
    def measure(self) -> float:
        return self.ball.volume()

    @property
    @override
    def cube_dim(self) -> int:
        return _direction_cube_dim(len(self.ball.centre)) + 1

    @property
    @override
    def num_available(self) -> int | None:
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        """Map the last coordinate to distances such that volumes are preserved."""
        dim = len(self.ball.centre)
        distance = self.ball.radius * cube_points[:, -1:] ** (1 / dim)
        points = self.ball.middle() + distance * _directions(cube_points[:, :-1], dim)
        return MappedPoints(points, np.zeros_like(points), np.ones(len(points), bool))


@dataclass(frozen=True)
class Sphere(AbstractFace):
    """The boundary of a ball."""

    ball: AbstractBall

    @property
    @override
    def size(self) -> float:
        return self.ball.radius

    @property
    @override
    def plane(self) -> None:
        return None

    @property
    @override
    def measure(self) -> float:
        """The derivative of the volume by the radius."""
        return len(self.ball.centre) * self.ball.volume() / self.ball.radius

    @property
    @override
    def cube_dim(self) -> int:
        return _direction_cube_dim(len(self.ball.centre))

    @property
    @override
    def num_available(self) -> int | None:
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        normals = _directions(cube_points, len(self.ball.centre))
        points = self.ball.middle() + self.ball.radius * normals
        return MappedPoints(points, normals, np.ones(len(points), bool))

    @override
    def normals_at(self, points: Points) -> Points:
        offset = points - self.ball.middle()
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        is_on = np.abs(length - self.ball.radius) <= ON_BOUNDARY * self.ball.radius
        return np.where(is_on, offset / np.where(is_on, length, 1.0), np.nan)


def _direction_cube_dim(dim: int) -> int:
    """Return the dimension of the cube that `_directions` maps."""
    return {1: 1, 2: 1, 3: 2}.get(dim, dim)


def _directions(cube_points: CubePoints, dim: int) -> Points:
    """Map the unit cube uniformly to unit vectors.

    The map uses an angle in the plane, Archimedes' cylinder in space, and normalised
    normal deviates in higher dimensions.
    """
    if dim == 1:
        return np.where(cube_points < 0.5, -1.0, 1.0)
    if dim == 2:
        angle = 2 * np.pi * cube_points[:, 0]
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dim == 3:
        height, angle = 2 * cube_points[:, 0] - 1, 2 * np.pi * cube_points[:, 1]
        reach = np.sqrt(1 - height**2)
        return np.stack([reach * np.cos(angle), reach * np.sin(angle), height], axis=1)
    deviates = ndtri(np.clip(cube_points, 2.0**-32, 1 - 2.0**-32))
    return deviates / np.linalg.norm(deviates, axis=1, keepdims=True)
