"""A fixed list of points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
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

_REACH = 2.0  # relative to the median distance between neighbours


class PointCloud(AbstractDomain):
    """`PointCloud(points, ("x", "y"), boundary=..., normals=...)`: rows of coordinates
    inside, and optionally on the boundary, with outward normals there.

    Training uses only these points. `contains` is true up to a distance of twice the
    median distance between neighbours in the cloud. Volumes are those of the bounding
    box.
    """

    points: np.ndarray
    names: tuple[str, ...]
    boundary_points: np.ndarray
    boundary_normals: np.ndarray

    def __init__(
        self,
        points: Sequence[Any] | np.ndarray,
        coordinates: Sequence[str],
        boundary: Sequence[Any] | np.ndarray | None = None,
        normals: Sequence[Any] | np.ndarray | None = None,
    ):
        self.names, dim = tuple(coordinates), len(coordinates)
        check_names("PointCloud", self.names)
        self.points = _rows("points", points, dim)
        self.boundary_points = _rows("boundary", boundary, dim)
        self.boundary_normals = np.zeros_like(self.boundary_points)
        if normals is not None:
            found = _rows("normals", normals, dim)
            length = np.linalg.norm(found, axis=1, keepdims=True)
            if found.shape != self.boundary_points.shape or not np.all(length > 0):
                raise InputError(
                    "`normals` must be non-zero rows, one for each row of `boundary`, "
                    f"which has {len(self.boundary_points)}; got {len(found)}."
                )
            self.boundary_normals = found / length
        if len(self.points) < 2 or not np.all(self.extents() > 0):
            raise InputError(
                "`points` must have at least two rows, and no coordinate may be "
                "equal in all rows."
            )

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        values = self._all()[:, self.position(coordinate)]
        return float(np.min(values)), float(np.max(values))

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """Return the largest allowed distance minus that of the nearest point."""
        tree = scipy.spatial.KDTree(self._all() / self.extents())
        neighbours, _ = tree.query(tree.data, 2)
        reach = _REACH * np.median(neighbours[:, 1])
        is_known = np.all(np.isfinite(points), axis=1)
        distance, _ = tree.query(
            np.where(is_known[:, None], points, 0) / self.extents()
        )
        return np.where(is_known, reach - distance, -np.inf)

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        """Return the points that have the fixed values."""
        extents = self.extents()
        kept = np.ones(len(self.points), bool)
        for name, value in fixed.items():
            k = self.position(name)
            kept &= np.abs(self.points[:, k] - value) <= ON_BOUNDARY * extents[k]
        free = [k for k, name in enumerate(self.coordinates) if name not in fixed]
        points = self.points[kept]
        return PointList(points, np.zeros_like(points), float(np.prod(extents[free])))

    @override
    def faces(self) -> list[AbstractFace]:
        if len(self.boundary_points) == 0:
            return []
        extents = self.extents()
        boundary = PointList(
            self.boundary_points,
            self.boundary_normals,
            float(np.sum(2 * np.prod(extents) / extents)),
        )
        return [CloudFace(boundary, extents)]

    def extents(self) -> np.ndarray:
        """Return the sides of the bounding box."""
        return np.ptp(self._all(), axis=0)

    def _all(self) -> np.ndarray:
        return np.concatenate([self.points, self.boundary_points])


@dataclass(frozen=True)
class PointList(AbstractRegion):
    """A list of points with normals."""

    points: np.ndarray
    normals: np.ndarray
    volume: float

    @property
    @override
    def measure(self) -> float:
        return self.volume

    @property
    @override
    def cube_dim(self) -> int:
        return 1

    @property
    @override
    def num_available(self) -> int:
        return len(self.points)

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        last = len(self.points) - 1
        which = np.minimum((cube_points[:, 0] * len(self.points)).astype(int), last)
        is_kept = np.ones(len(cube_points), bool)
        return MappedPoints(self.points[which], self.normals[which], is_kept)


@dataclass(frozen=True)
class CloudFace(AbstractFace):
    """The boundary points of a cloud."""

    boundary: PointList
    extents: np.ndarray

    @property
    @override
    def size(self) -> float:
        return float(np.linalg.norm(self.extents))

    @property
    @override
    def plane(self) -> None:
        return None

    @property
    @override
    def measure(self) -> float:
        return self.boundary.measure

    @property
    @override
    def cube_dim(self) -> int:
        return self.boundary.cube_dim

    @property
    @override
    def num_available(self) -> int:
        return self.boundary.num_available

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        return self.boundary.map_cube(cube_points)

    @override
    def normals_at(self, points: Points) -> Points:
        """Return the normals of listed points; zero if the user gave none."""
        tree = scipy.spatial.KDTree(self.boundary.points / self.extents)
        distance, which = tree.query(points / self.extents)
        is_on = distance <= ON_BOUNDARY
        return np.where(is_on[:, None], self.boundary.normals[which], np.nan)


def _rows(
    name: str, given: Sequence[Any] | np.ndarray | None, dim: int
) -> Float[np.ndarray, "points dim"]:
    """Return rows of finite coordinates; no rows if `given` is None."""
    rows = np.zeros((0, dim)) if given is None else np.asarray(given, float)
    if rows.ndim != 2 or rows.shape[1] != dim or not np.all(np.isfinite(rows)):
        raise InputError(
            f"`{name}` must be rows of {dim} finite numbers, got shape {rows.shape}."
        )
    return rows
