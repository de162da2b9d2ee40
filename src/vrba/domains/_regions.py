"""Regions: parts of a domain or of its boundary, as maps from the unit cube."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from typing_extensions import override

if TYPE_CHECKING:
    from ._base import AbstractDomain

Points = Float[np.ndarray, "points dim"]
CubePoints = Float[np.ndarray, "points cube_dim"]
FixedValues = dict[str, float]

# Lengths relative to the size of a face:
ON_BOUNDARY = 1e-9  # the tolerance for points on it,
PROBE_STEP = 1e-6  # and the step from it to test both of its sides.


class MappedPoints(NamedTuple):
    """Points, normals (zero inside a domain), and which points are in the region."""

    points: Points
    normals: Points
    is_kept: Bool[np.ndarray, " points"]


class AbstractRegion(abc.ABC):
    """A map of the unit cube that preserves ratios of volumes.

    The image may be larger than the region: `MappedPoints.is_kept` marks the region.
    """

    @property
    @abc.abstractmethod
    def measure(self) -> float:
        """The length, area or volume of the image of the cube."""

    @property
    @abc.abstractmethod
    def cube_dim(self) -> int:
        """The dimension of the cube."""

    @property
    @abc.abstractmethod
    def num_available(self) -> int | None:
        """The number of points if it is finite, else None.

        The cube points `(k + 1/2) / num_available` then give each of them once.
        """

    @abc.abstractmethod
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        """Map points of the unit cube to the region."""


class AbstractFace(AbstractRegion):
    """A piece of a boundary."""

    @property
    @abc.abstractmethod
    def size(self) -> float:
        """The extent of its shape, to which tolerances are relative."""

    @property
    @abc.abstractmethod
    def plane(self) -> tuple[str, float] | None:
        """The coordinate that is constant on it and its value, if there is one."""

    @abc.abstractmethod
    def normals_at(self, points: Points) -> Points:
        """Return outward unit normals of points on it; NaN for other points."""


@dataclass(frozen=True)
class BoundingBoxRegion(AbstractRegion):
    """The points of a domain with fixed values of some coordinates, by rejection from
    its bounding box."""

    domain: "AbstractDomain"
    fixed: FixedValues

    @property
    @override
    def measure(self) -> float:
        return float(np.prod([upper - lower for _, lower, upper in self._free()]))

    @property
    @override
    def cube_dim(self) -> int:
        return len(self._free())

    @property
    @override
    def num_available(self) -> int | None:
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        names = self.domain.coordinates
        points = np.zeros((len(cube_points), len(names)))
        for name, value in self.fixed.items():
            points[:, names.index(name)] = value
        columns = zip(cube_points.T, self._free(), strict=True)
        for column, (name, lower, upper) in columns:
            points[:, names.index(name)] = lower + (upper - lower) * column
        return MappedPoints(points, np.zeros_like(points), self.domain.contains(points))

    def _free(self) -> list[tuple[str, float, float]]:
        """Return the coordinates that are not fixed, with their bounds."""
        names = [name for name in self.domain.coordinates if name not in self.fixed]
        return [(name, *self.domain.bounds(name)) for name in names]


@dataclass(frozen=True)
class RestrictedRegion(AbstractRegion):
    """The part of a region that lies in a domain."""

    region: AbstractRegion
    domain: "AbstractDomain"

    @property
    @override
    def measure(self) -> float:
        return self.region.measure

    @property
    @override
    def cube_dim(self) -> int:
        return self.region.cube_dim

    @property
    @override
    def num_available(self) -> int | None:
        return self.region.num_available

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        found = self.region.map_cube(cube_points)
        is_kept = found.is_kept & self.domain.contains(found.points)
        return MappedPoints(found.points, found.normals, is_kept)
