"""Pieces of an inside or of a boundary, as maps from numbers between 0 and 1."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

if TYPE_CHECKING:
    from ._base import AbstractDomain

Points = Float[np.ndarray, "points dim"]
Units = Float[np.ndarray, "points units"]
Fixed = dict[str, float]

ON_BOUNDARY = 1e-9  # how near counts as on it, and
PROBE = 1e-6  # how far off the sides of a face are looked at, relative to its size


class Placed(NamedTuple):
    """Points with normals (zero inside), and which of them count."""

    points: Points
    normals: Points
    is_kept: Bool[np.ndarray, " points"]


class AbstractPatch(abc.ABC):
    """A map of the unit cube that preserves ratios of volumes. What it covers besides
    the piece that is meant is not kept."""

    @property
    @abc.abstractmethod
    def measure(self) -> float:
        """The length, area or volume of all that the cube is mapped to."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """How many numbers between 0 and 1 make a point."""

    @property
    @abc.abstractmethod
    def num_members(self) -> int | None:
        """How many points there are, if not endlessly many: `(k + 1/2) / num_members`
        then gives each of them once."""

    @abc.abstractmethod
    def place(self, units: Units) -> Placed:
        """The points of given numbers."""


class AbstractFace(AbstractPatch):
    """A piece of a boundary."""

    @property
    @abc.abstractmethod
    def size(self) -> float:
        """The extent of the shape behind it, which says what is near."""

    @property
    @abc.abstractmethod
    def plane(self) -> tuple[str, float] | None:
        """The coordinate that is constant on it and its value, if there is one."""

    @abc.abstractmethod
    def normals_at(self, points: Points) -> Points:
        """Outward unit normals of points on it; NaN for other points."""


@dataclass(frozen=True)
class Bounding(AbstractPatch):
    """The bounding box of a domain, cut where coordinates are `fixed`; what lies in the
    domain is kept."""

    domain: "AbstractDomain"
    fixed: Fixed

    @property
    def measure(self) -> float:
        """The volume of the box."""
        return float(np.prod([upper - lower for _, lower, upper in self._free()]))

    @property
    def num_units(self) -> int:
        """One for each coordinate that is free."""
        return len(self._free())

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """Stretched along each free coordinate."""
        names = self.domain.coordinates
        points = np.zeros((len(units), len(names)))
        for name, value in self.fixed.items():
            points[:, names.index(name)] = value
        for unit, (name, lower, upper) in zip(units.T, self._free(), strict=True):
            points[:, names.index(name)] = lower + (upper - lower) * unit
        return Placed(points, np.zeros_like(points), self.domain.contains(points))

    def _free(self) -> list[tuple[str, float, float]]:
        names = [name for name in self.domain.coordinates if name not in self.fixed]
        return [(name, *self.domain.bounds(name)) for name in names]


@dataclass(frozen=True)
class Filtered(AbstractPatch):
    """What a patch covers of a domain."""

    patch: AbstractPatch
    domain: "AbstractDomain"

    @property
    def measure(self) -> float:
        """That of the patch."""
        return self.patch.measure

    @property
    def num_units(self) -> int:
        """As the patch."""
        return self.patch.num_units

    @property
    def num_members(self) -> int | None:
        """As the patch."""
        return self.patch.num_members

    def place(self, units: Units) -> Placed:
        """As the patch, where it is in the domain."""
        found = self.patch.place(units)
        is_kept = found.is_kept & self.domain.contains(found.points)
        return Placed(found.points, found.normals, is_kept)
