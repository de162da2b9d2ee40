"""Points that were given, and no others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._patch import (
    ON_BOUNDARY,
    AbstractFace,
    AbstractPatch,
    Fixed,
    Placed,
    Points,
    Units,
)

_REACH = 2.0  # times the usual distance between neighbours


class PointCloud(AbstractDomain):
    """`PointCloud(points, ("x", "y"), boundary=..., normals=...)`: rows of coordinates
    inside and, if there are any, on the boundary, there with outward normals.

    Training uses these points only. `contains` is true of points that are at most twice
    as far from the cloud as neighbours in it usually are from each other. Volumes are
    those of its bounding box.
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
                    "`normals` must be directions, one for each row of `boundary`, "
                    f"which has {len(self.boundary_points)}; got {len(found)}."
                )
            self.boundary_normals = found / length
        if len(self.points) < 2 or not np.all(self.extents() > 0):
            raise InputError(
                "`points` must be at least two rows, and no coordinate the same in all."
            )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names given."""
        return self.names

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """Of all points."""
        values = self._all()[:, self.position(coordinate)]
        return float(np.min(values)), float(np.max(values))

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """By how much the nearest point is nearer than it need be."""
        tree = scipy.spatial.KDTree(self._all() / self.extents())
        neighbours, _ = tree.query(tree.data, 2)
        reach = _REACH * np.median(neighbours[:, 1])
        is_known = np.all(np.isfinite(points), axis=1)
        distance, _ = tree.query(
            np.where(is_known[:, None], points, 0) / self.extents()
        )
        return np.where(is_known, reach - distance, -np.inf)

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """The points, or those of them that have the fixed values."""
        extents = self.extents()
        kept = np.ones(len(self.points), bool)
        for name, value in fixed.items():
            k = self.position(name)
            kept &= np.abs(self.points[:, k] - value) <= ON_BOUNDARY * extents[k]
        free = [k for k, name in enumerate(self.coordinates) if name not in fixed]
        points = self.points[kept]
        return Listed(points, np.zeros_like(points), float(np.prod(extents[free])))

    def faces(self) -> list[AbstractFace]:
        """The boundary, if there is one."""
        if len(self.boundary_points) == 0:
            return []
        extents = self.extents()
        listed = Listed(
            self.boundary_points,
            self.boundary_normals,
            float(np.sum(2 * np.prod(extents) / extents)),
        )
        return [CloudFace(listed, extents)]

    def extents(self) -> np.ndarray:
        """The sides of the bounding box."""
        return np.ptp(self._all(), axis=0)

    def _all(self) -> np.ndarray:
        return np.concatenate([self.points, self.boundary_points])


@dataclass(frozen=True)
class Listed(AbstractPatch):
    """A list of points with normals."""

    points: np.ndarray
    normals: np.ndarray
    volume: float

    @property
    def measure(self) -> float:
        """What the points stand for."""
        return self.volume

    @property
    def num_units(self) -> int:
        """One, the place in the list."""
        return 1

    @property
    def num_members(self) -> int:
        """The length of the list."""
        return len(self.points)

    def place(self, units: Units) -> Placed:
        """By their place in the list."""
        last = len(self.points) - 1
        which = np.minimum((units[:, 0] * len(self.points)).astype(int), last)
        is_kept = np.ones(len(units), bool)
        return Placed(self.points[which], self.normals[which], is_kept)


@dataclass(frozen=True)
class CloudFace(AbstractFace):
    """The boundary points of a cloud."""

    listed: Listed
    extents: np.ndarray

    @property
    def size(self) -> float:
        """The diagonal of the bounding box."""
        return float(np.linalg.norm(self.extents))

    @property
    def plane(self) -> None:
        """Nothing is known of it."""
        return None

    @property
    def measure(self) -> float:
        """What the points stand for."""
        return self.listed.measure

    @property
    def num_units(self) -> int:
        """One, the place in the list."""
        return self.listed.num_units

    @property
    def num_members(self) -> int:
        """The length of the list."""
        return self.listed.num_members

    def place(self, units: Units) -> Placed:
        """By their place in the list."""
        return self.listed.place(units)

    def normals_at(self, points: Points) -> Points:
        """Of the same point in the list; zero if none was given."""
        tree = scipy.spatial.KDTree(self.listed.points / self.extents)
        distance, which = tree.query(points / self.extents)
        is_on = distance <= ON_BOUNDARY
        return np.where(is_on[:, None], self.listed.normals[which], np.nan)


def _rows(
    name: str, given: Sequence[Any] | np.ndarray | None, dim: int
) -> Float[np.ndarray, "points dim"]:
    """Rows of finite coordinates; none if nothing is given."""
    rows = np.zeros((0, dim)) if given is None else np.asarray(given, float)
    if rows.ndim != 2 or rows.shape[1] != dim or not np.all(np.isfinite(rows)):
        raise InputError(
            f"`{name}` must be rows of {dim} finite numbers, got shape {rows.shape}."
        )
    return rows
