"""A polygon in the plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from typing_extensions import override

from ..core import InputError
from ._base import AbstractDomain, check_names
from ._regions import AbstractFace, AbstractRegion, BoundingBoxRegion, FixedValues
from ._surface import Surface

Corners = tuple[tuple[float, float], ...]


class Polygon(AbstractDomain):
    """`Polygon([(0, 0), (1, 0), (0, 1)])`: its corners, in either direction."""

    vertices: Corners
    names: tuple[str, ...]

    def __init__(
        self,
        vertices: Sequence[Any] | np.ndarray,
        coordinates: Sequence[str] = ("x", "y"),
    ):
        corners = np.asarray(vertices, float)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InputError(
                "`vertices` must be at least three pairs of numbers, got shape "
                f"{corners.shape}."
            )
        if not np.all(np.isfinite(corners)):
            raise InputError("`vertices` must be finite numbers.")
        if len(coordinates) != 2:
            raise InputError(f"`coordinates` must be two names, got {coordinates!r}.")
        check_names("Polygon", tuple(coordinates))
        _check_simple(corners)
        after = np.roll(corners, -1, axis=0)
        twice_area = np.sum(corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0])
        corners = corners if twice_area > 0 else corners[::-1]
        self.vertices = tuple((float(x), float(y)) for x, y in corners)
        self.names = tuple(coordinates)

    @property
    @override
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    @override
    def bounds(self, coordinate: str) -> tuple[float, float]:
        values = [corner[self.position(coordinate)] for corner in self.vertices]
        return min(values), max(values)

    @override
    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        return self.surface().depth(points)

    @override
    def interior(self, fixed: FixedValues) -> AbstractRegion:
        return BoundingBoxRegion(self, fixed)

    @override
    def faces(self) -> list[AbstractFace]:
        return [self.surface()]

    def surface(self) -> Surface:
        """Return the edges, counter-clockwise."""
        corners = np.array(self.vertices)
        return Surface(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1))


def _check_simple(corners: np.ndarray) -> None:
    """Raise if edges have no length, reverse direction or cross."""
    after = np.roll(corners, -1, axis=0)
    edges, count = after - corners, len(corners)
    following = np.roll(edges, -1, axis=0)
    is_point = ~np.any(edges, axis=1)
    is_reversed = (_cross(edges, following) == 0) & (
        np.sum(edges * following, axis=1) < 0
    )
    for is_bad, words in (
        (is_point, "has no length"),
        (is_reversed, "reverses direction"),
    ):
        if np.any(is_bad):
            row = int(np.argmax(is_bad))
            raise InputError(
                f"`vertices`: the edge from corner {row}, {corners[row].tolist()}, "
                f"{words}: remove a corner."
            )
    one, two = np.triu_indices(count, 2)
    is_apart = (one != 0) | (two != count - 1)
    one, two = one[is_apart], two[is_apart]
    is_crossing = _intersect(corners[one], after[one], corners[two], after[two])
    if np.any(is_crossing):
        k = int(np.argmax(is_crossing))
        raise InputError(
            f"`vertices`: the edges from corner {one[k]}, {corners[one[k]].tolist()}, "
            f"and from corner {two[k]}, {corners[two[k]].tolist()}, meet: a polygon "
            "must not cross itself."
        )


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _intersect(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray
) -> Bool[np.ndarray, " pairs"]:
    """Whether the segments `ab` and `cd` intersect.

    They do if each has its ends on both sides of the other and their bounding boxes
    overlap.
    """
    sides = lambda p, q, r: np.sign(_cross(q - p, r - p))
    is_on_both_sides = sides(a, b, c) * sides(a, b, d) <= 0
    is_on_both_sides &= sides(c, d, a) * sides(c, d, b) <= 0
    above = np.minimum(np.maximum(a, b), np.maximum(c, d))
    below = np.maximum(np.minimum(a, b), np.minimum(c, d))
    return is_on_both_sides & np.all(below <= above, axis=1)
