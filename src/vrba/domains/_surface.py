"""Closed surfaces of segments or triangles, and maps from the cube to simplices."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from typing_extensions import override

from ._regions import ON_BOUNDARY, AbstractFace, CubePoints, MappedPoints, Points

Facets = Float[np.ndarray, "facets dim dim"]
_MAX_PAIRS = 1 << 20  # of a point and a facet, in one array


@dataclass(frozen=True)
class Surface(AbstractFace):
    """A closed surface: the corners of each facet, ordered such that the normal
    `(dy, -dx)`, or the cross product of the edges, points outwards."""

    facets: Facets

    @property
    @override
    def size(self) -> float:
        corners = self.facets.reshape(-1, self.facets.shape[-1])
        return float(np.linalg.norm(np.ptp(corners, axis=0)))

    @property
    @override
    def plane(self) -> None:
        return None

    @property
    @override
    def measure(self) -> float:
        return float(np.sum(simplex_measures(self.facets)))

    @property
    @override
    def cube_dim(self) -> int:
        return self.facets.shape[-1] - 1

    @property
    @override
    def num_available(self) -> int | None:
        return None

    @override
    def map_cube(self, cube_points: CubePoints) -> MappedPoints:
        which, cube_points = choose_cells(simplex_measures(self.facets), cube_points)
        points = map_to_simplices(self.facets[which], cube_points)
        normals = facet_normals(self.facets)[which]
        return MappedPoints(points, normals, np.ones(len(points), bool))

    @override
    def normals_at(self, points: Points) -> Points:
        nearest, gap = self._nearest(points)
        is_on = gap <= ON_BOUNDARY * self.size
        return np.where(is_on[:, None], facet_normals(self.facets)[nearest], np.nan)

    def depth(self, points: Points) -> Float[np.ndarray, " points"]:
        """Return the distance from the nearest facet, negative outside."""
        gap = self._nearest(points)[1]
        return np.where(self._winding_numbers(points) > 0.5, gap, -gap) / self.size

    def _nearest(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest facet of each point, and its distance.

        The distance is the larger of those from the plane and from the edges of the
        facet.
        """
        origin, edges = self.facets[:, 0], self.facets[:, 1:] - self.facets[:, :1]
        normals = facet_normals(self.facets)
        inverse = np.linalg.pinv(np.swapaxes(edges, 1, 2))
        extent = np.max(np.linalg.norm(edges, axis=2), axis=1)
        nearest, gaps = [], []
        for block in self._blocks(points):
            offset = block[:, None] - origin
            weights = np.einsum("fkd,pfd->pfk", inverse, offset)
            least = np.minimum(np.min(weights, 2), 1 - np.sum(weights, 2))
            height = np.abs(np.einsum("fd,pfd->pf", normals, offset))
            gap = np.maximum(height, -least * extent)
            nearest.append(np.argmin(gap, axis=1))
            gaps.append(np.min(gap, axis=1))
        return np.concatenate(nearest), np.concatenate(gaps)

    def _winding_numbers(self, points: Points) -> Float[np.ndarray, " points"]:
        """Return the winding number around each point: one inside, zero outside."""
        found = []
        for block in self._blocks(points):
            vectors = self.facets - block[:, None, None]
            angle = _angles if vectors.shape[-1] == 2 else _solid_angles
            found.append(np.sum(angle(*np.moveaxis(vectors, 2, 0)), axis=1))
        return np.concatenate(found)

    def _blocks(self, points: Points) -> Iterator[Points]:
        """Split points such that each block has few pairs with facets."""
        each = max(_MAX_PAIRS // len(self.facets), 1)
        return (points[k : k + each] for k in range(0, max(len(points), 1), each))


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angle between two vectors as a fraction of the circle."""
    cross = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.arctan2(cross, np.sum(a * b, axis=-1)) / (2 * np.pi)


def _solid_angles(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the solid angle of three vectors as a fraction of the sphere.

    The formula is that of Van Oosterom and Strackee (1983).
    """
    dot = lambda one, two: np.sum(one * two, axis=-1)
    size = lambda one: np.sqrt(dot(one, one))
    above = dot(a, np.cross(b, c))
    below = size(a) * size(b) * size(c) + dot(a, b) * size(c)
    below = below + dot(b, c) * size(a) + dot(c, a) * size(b)
    return np.arctan2(above, below) / (2 * np.pi)


def simplex_measures(simplices: Float[np.ndarray, "cells corners dim"]) -> np.ndarray:
    """Return lengths, areas or volumes."""
    edges = simplices[:, 1:] - simplices[:, :1]
    gram = np.linalg.det(np.einsum("fid,fjd->fij", edges, edges))
    count = edges.shape[1]
    return np.sqrt(np.maximum(gram, 0.0)) / np.prod(np.arange(1, count + 1))


def facet_normals(facets: Facets) -> Float[np.ndarray, "facets dim"]:
    """Return unit normals of segments or triangles."""
    edges = facets[:, 1:] - facets[:, :1]
    if facets.shape[-1] == 2:
        across = np.stack([edges[:, 0, 1], -edges[:, 0, 0]], axis=1)
    else:
        across = np.cross(edges[:, 0], edges[:, 1])
    return across / np.linalg.norm(across, axis=1, keepdims=True)


def choose_cells(
    sizes: Float[np.ndarray, " cells"], cube_points: CubePoints
) -> tuple[Int[np.ndarray, " points"], CubePoints]:
    """Choose cells in proportion to their sizes, by the first coordinate.

    The position in the interval of the cell replaces this coordinate: the points of
    each cell again fill the unit cube.
    """
    ends = np.cumsum(sizes) / np.sum(sizes)
    last = len(sizes) - 1
    which = np.minimum(np.searchsorted(ends, cube_points[:, 0], side="right"), last)
    start = np.where(which > 0, ends[which - 1], 0.0)
    position = np.clip((cube_points[:, 0] - start) / (ends[which] - start), 0.0, 1.0)
    return which, np.concatenate([position[:, None], cube_points[:, 1:]], axis=1)


def map_to_simplices(
    corners: Float[np.ndarray, "points corners dim"], cube_points: CubePoints
) -> Points:
    """Map each cube point to its simplex, preserving volumes.

    Each step goes from the next corner towards the point of the step before.
    """
    count = corners.shape[1] - 1
    points = corners[:, -1]
    for k in range(count - 1, -1, -1):
        distance = cube_points[:, k : k + 1] ** (1 / (count - k))
        points = corners[:, k] + distance * (points - corners[:, k])
    return points
