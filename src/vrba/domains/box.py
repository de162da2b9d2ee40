"""A product of intervals."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..core import InputError, is_number
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
                    f"{pair!r}."
                )
        self.ends = tuple((n, float(lo), float(hi)) for n, (lo, hi) in ends.items())

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(name for name, _, _ in self.ends)

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The lower and the upper end."""
        return self.ends[self.position(coordinate)][1:]

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """The distance from the nearest end, relative to that between the ends."""
        lower, upper = self.corners()
        return np.min(np.minimum(points - lower, upper - points) / (upper - lower), 1)

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """The box itself."""
        return Bounding(self, fixed)

    def faces(self) -> list[AbstractFace]:
        """Two for each coordinate."""
        sides = (False, True)
        return [BoxFace(self, n, side) for n in self.coordinates for side in sides]

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """All lower and all upper ends."""
        lower = np.array([lo for _, lo, _ in self.ends])
        return lower, np.array([hi for _, _, hi in self.ends])


@dataclass(frozen=True)
class BoxFace(AbstractFace):
    """Where a coordinate of a box is at its lower or upper end."""

    box: Box
    coordinate: str
    is_upper: bool

    @property
    def size(self) -> float:
        """The distance from the other end."""
        lower, upper = self.box.bounds(self.coordinate)
        return upper - lower

    @property
    def plane(self) -> tuple[str, float]:
        """The end."""
        return self.coordinate, self.box.bounds(self.coordinate)[self.is_upper]

    @property
    def measure(self) -> float:
        """The product of the other extents."""
        return self._patch().measure

    @property
    def num_units(self) -> int:
        """One for each other coordinate."""
        return self._patch().num_units

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """Points that are free in the other coordinates."""
        points = self._patch().place(units).points
        normals = np.tile(self._normal(), (len(points), 1))
        return Placed(points, normals, np.ones(len(points), bool))

    def normals_at(self, points: Points) -> Points:
        """One direction for all."""
        name, value = self.plane
        distance = points[:, self.box.position(name)] - value
        is_on = np.abs(distance) <= ON_BOUNDARY * self.size
        is_on &= self.box.depth(points) >= -ON_BOUNDARY
        return np.where(is_on[:, None], self._normal(), np.nan)

    def _patch(self) -> AbstractPatch:
        name, value = self.plane
        return self.box.inside({name: value})

    def _normal(self) -> np.ndarray:
        normal = np.zeros(len(self.box.ends))
        normal[self.box.position(self.coordinate)] = 1.0 if self.is_upper else -1.0
        return normal
