"""Boundaries made of segments or triangles, and points in simplices."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ._patch import ON_BOUNDARY, AbstractFace, Placed, Points, Units

Facets = Float[np.ndarray, "facets dim dim"]
_AT_ONCE = 1 << 20  # pairs of a point and a facet


@dataclass(frozen=True)
class Surface(AbstractFace):
    """All facets of a closed boundary: for each its corners, which turn so that the
    normal `(dy, -dx)`, or the cross product of the edges, points outwards."""

    facets: Facets

    @property
    def size(self) -> float:
        """The diagonal of the bounding box."""
        corners = self.facets.reshape(-1, self.facets.shape[-1])
        return float(np.linalg.norm(np.ptp(corners, axis=0)))

    @property
    def plane(self) -> None:
        """Facets face many ways."""
        return None

    @property
    def measure(self) -> float:
        """The sum over all facets."""
        return float(np.sum(measures(self.facets)))

    @property
    def num_units(self) -> int:
        """As many as a facet has dimensions."""
        return self.facets.shape[-1] - 1

    @property
    def num_members(self) -> int | None:
        """Endlessly many."""
        return None

    def place(self, units: Units) -> Placed:
        """Along all facets, one after the other."""
        which, units = choose(measures(self.facets), units)
        points = in_simplices(self.facets[which], units)
        normals = facet_normals(self.facets)[which]
        return Placed(points, normals, np.ones(len(points), bool))

    def normals_at(self, points: Points) -> Points:
        """That of the nearest facet."""
        nearest, gap = self._nearest(points)
        is_on = gap <= ON_BOUNDARY * self.size
        return np.where(is_on[:, None], facet_normals(self.facets)[nearest], np.nan)

    def depth(self, points: Points) -> Float[np.ndarray, " points"]:
        """How near a facet points are, negative outside."""
        gap = self._nearest(points)[1]
        return np.where(self._windings(points) > 0.5, gap, -gap) / self.size

    def _nearest(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """The nearest facet and how near it is: the distance from its plane, or how far
        a point lies off its edges, whichever is larger."""
        origin, edges = self.facets[:, 0], self.facets[:, 1:] - self.facets[:, :1]
        normals = facet_normals(self.facets)
        inverse = np.linalg.pinv(np.swapaxes(edges, 1, 2))
        extent = np.max(np.linalg.norm(edges, axis=2), axis=1)
        nearest, gaps = [], []
        for some in self._parts(points):
            offset = some[:, None] - origin
            weights = np.einsum("fkd,pfd->pfk", inverse, offset)
            least = np.minimum(np.min(weights, 2), 1 - np.sum(weights, 2))
            height = np.abs(np.einsum("fd,pfd->pf", normals, offset))
            gap = np.maximum(height, -least * extent)
            nearest.append(np.argmin(gap, axis=1))
            gaps.append(np.min(gap, axis=1))
        return np.concatenate(nearest), np.concatenate(gaps)

    def _windings(self, points: Points) -> Float[np.ndarray, " points"]:
        """How often the boundary goes around each point: one inside, zero outside."""
        found = []
        for some in self._parts(points):
            arms = self.facets - some[:, None, None]
            angle = _angles if arms.shape[-1] == 2 else _solid_angles
            found.append(np.sum(angle(*np.moveaxis(arms, 2, 0)), axis=1))
        return np.concatenate(found)

    def _parts(self, points: Points) -> Iterator[Points]:
        each = max(_AT_ONCE // len(self.facets), 1)
        return (points[k : k + each] for k in range(0, max(len(points), 1), each))


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The angle between two arms, in turns."""
    cross = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.arctan2(cross, np.sum(a * b, axis=-1)) / (2 * np.pi)


def _solid_angles(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The solid angle of three arms as a share of the sphere (Van Oosterom and
    Strackee 1983)."""
    dot = lambda one, two: np.sum(one * two, axis=-1)
    size = lambda arm: np.sqrt(dot(arm, arm))
    above = dot(a, np.cross(b, c))
    below = size(a) * size(b) * size(c) + dot(a, b) * size(c)
    below = below + dot(b, c) * size(a) + dot(c, a) * size(b)
    return np.arctan2(above, below) / (2 * np.pi)


def measures(simplices: Float[np.ndarray, "cells corners dim"]) -> np.ndarray:
    """Lengths, areas or volumes."""
    edges = simplices[:, 1:] - simplices[:, :1]
    gram = np.linalg.det(np.einsum("fid,fjd->fij", edges, edges))
    count = edges.shape[1]
    return np.sqrt(np.maximum(gram, 0.0)) / np.prod(np.arange(1, count + 1))


def facet_normals(facets: Facets) -> Float[np.ndarray, "facets dim"]:
    """Unit vectors across segments or triangles."""
    edges = facets[:, 1:] - facets[:, :1]
    if facets.shape[-1] == 2:
        across = np.stack([edges[:, 0, 1], -edges[:, 0, 0]], axis=1)
    else:
        across = np.cross(edges[:, 0], edges[:, 1])
    return across / np.linalg.norm(across, axis=1, keepdims=True)


def choose(
    sizes: Float[np.ndarray, " cells"], units: Units
) -> tuple[Int[np.ndarray, " points"], Units]:
    """Cells in proportion to their sizes, by the first number; what is left of it is
    again a number between 0 and 1."""
    ends = np.cumsum(sizes) / np.sum(sizes)
    last = len(sizes) - 1
    which = np.minimum(np.searchsorted(ends, units[:, 0], side="right"), last)
    start = np.where(which > 0, ends[which - 1], 0.0)
    left = np.clip((units[:, 0] - start) / (ends[which] - start), 0.0, 1.0)
    return which, np.concatenate([left[:, None], units[:, 1:]], axis=1)


def in_simplices(corners: Float[np.ndarray, "points corners dim"], units: Units):
    """A point of each simplex: from corner to corner towards the point so far, such
    that equal volumes get equal shares."""
    count = corners.shape[1] - 1
    points = corners[:, -1]
    for k in range(count - 1, -1, -1):
        far = units[:, k : k + 1] ** (1 / (count - k))
        points = corners[:, k] + far * (points - corners[:, k])
    return points
