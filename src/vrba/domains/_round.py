"""What balls of any dimension share."""

import math
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._patch import (
    ON_BOUNDARY,
    AbstractFace,
    AbstractPatch,
    Bounding,
    Fixed,
    Placed,
    Points,
    Units,
)

_MOST_REJECTED = 3  # of a box in three dimensions half is a ball, in four a third


class AbstractRound(AbstractDomain):
    """The points at most `radius` away from `centre`."""

    radius: eqx.AbstractVar[float]
    centre: eqx.AbstractVar[tuple[tuple[str, float], ...]]

    def __check_init__(self):
        """A size, a place, and names for them."""
        kind = type(self).__name__
        check_names(kind, self.coordinates)
        if not 0 < self.radius < math.inf:
            raise InputError(f"`radius` must be positive, got {self.radius}.")
        for name, value in self.centre:
            if not math.isfinite(value):
                raise InputError(f"`{kind}({name}=...)` must be finite, got {value}.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(name for name, _ in self.centre)

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The radius to both sides."""
        middle = self.centre[self.position(coordinate)][1]
        return middle - self.radius, middle + self.radius

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """The distance from the surface in radii."""
        return 1 - np.linalg.norm(points - self.middle(), axis=1) / self.radius

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """By rejection, or, with more coordinates, by an exact map."""
        if fixed or len(self.centre) <= _MOST_REJECTED:
            return Bounding(self, fixed)
        return RoundInside(self)

    def faces(self) -> list[AbstractFace]:
        """The surface."""
        return [RoundFace(self)]

    def middle(self) -> np.ndarray:
        """The centre as a row."""
        return np.array([value for _, value in self.centre])

    def volume(self) -> float:
        """`pi^(n/2) radius^n / gamma(n/2 + 1)` with `n` coordinates."""
        half = len(self.centre) / 2
        return math.pi**half / math.gamma(half + 1) * self.radius ** len(self.centre)


@dataclass(frozen=True)
class RoundInside(AbstractPatch):
    """A direction, and how far."""

    ball: AbstractRound

    @property
    def measure(self) -> float:
        """The volume of the ball."""
        return self.ball.volume()

    @property
    def num_units(self) -> int:
        """Those of a direction and one more."""
        return num_direction_units(len(self.ball.centre)) + 1

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """The distance is such that shells of equal volume get equal shares."""
        dim = len(self.ball.centre)
        far = self.ball.radius * units[:, -1:] ** (1 / dim)
        points = self.ball.middle() + far * directions(units[:, :-1], dim)
        return Placed(points, np.zeros_like(points), np.ones(len(points), bool))


@dataclass(frozen=True)
class RoundFace(AbstractFace):
    """The surface of a ball."""

    ball: AbstractRound

    @property
    def size(self) -> float:
        """The radius."""
        return self.ball.radius

    @property
    def plane(self) -> None:
        """It is curved."""
        return None

    @property
    def measure(self) -> float:
        """The derivative of the volume by the radius."""
        return len(self.ball.centre) * self.ball.volume() / self.ball.radius

    @property
    def num_units(self) -> int:
        """Those of a direction."""
        return num_direction_units(len(self.ball.centre))

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """A radius away from the centre in every direction."""
        normals = directions(units, len(self.ball.centre))
        points = self.ball.middle() + self.ball.radius * normals
        return Placed(points, normals, np.ones(len(points), bool))

    def normals_at(self, points: Points) -> Points:
        """Away from the centre."""
        offset = points - self.ball.middle()
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        is_on = np.abs(length - self.ball.radius) <= ON_BOUNDARY * self.ball.radius
        return np.where(is_on, offset / np.where(is_on, length, 1.0), np.nan)


def num_direction_units(dim: int) -> int:
    """How many numbers `directions` needs."""
    return {1: 1, 2: 1, 3: 2}.get(dim, dim)


def directions(units: Units, dim: int) -> Points:
    """Unit vectors, evenly spread if the numbers are: by an angle, by Archimedes'
    cylinder, or by normal deviates."""
    if dim == 1:
        return np.where(units < 0.5, -1.0, 1.0)
    if dim == 2:
        angle = 2 * np.pi * units[:, 0]
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dim == 3:
        height, angle = 2 * units[:, 0] - 1, 2 * np.pi * units[:, 1]
        reach = np.sqrt(1 - height**2)
        return np.stack([reach * np.cos(angle), reach * np.sin(angle), height], axis=1)
    deviates = ndtri(np.clip(units, 2.0**-32, 1 - 2.0**-32))
    return deviates / np.linalg.norm(deviates, axis=1, keepdims=True)
