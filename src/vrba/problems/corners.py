"""Singular functions at the re-entrant corners of polygons."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain, Difference, Polygon
from .conditions import Singular

_MAX_EXPONENT = 4.0  # smoother functions are left to the network
_ROUNDING = 1e-6  # of angles

Corner = Float[np.ndarray, " 2"]


class CornerFunction(eqx.Module):
    """A harmonic function of polar coordinates, singular at a corner.

    `r^a sin(a phi)`, or `r^a (log(r) sin(a phi) + phi cos(a phi))` with a logarithm.
    With `a = k pi / opening`, the former vanishes on both edges. If `a` is an integer
    it is a polynomial, and the latter appears in the solution (Grisvard, 1985).
    """

    exponent: float | int
    has_logarithm: bool = False

    def __call__(self, r: Float[Array, ""], phi: Float[Array, ""]) -> Float[Array, ""]:
        """Return the value."""
        sine = jnp.sin(self.exponent * phi)
        if self.has_logarithm:
            sine = jnp.log(r) * sine + phi * jnp.cos(self.exponent * phi)
        return r**self.exponent * sine


class _Outline(NamedTuple):
    """The shapes that a domain consists of: one shape, and all that is removed.

    `signs` are one, and minus one for a removed shape.
    """

    shapes: tuple[AbstractDomain, ...]
    signs: tuple[int, ...]

    @staticmethod
    def build(domain: AbstractDomain) -> "_Outline":
        if not isinstance(domain, Difference):
            return _Outline((domain,), (1,))
        shapes, signs = _Outline.build(domain.first)
        return _Outline((*shapes, domain.second), (*signs, -1))

    def loops(self) -> list[tuple[int, np.ndarray]]:
        """Return the number and the corners of each polygon; the domain is to the
        left of its edges."""
        pairs = zip(self.shapes, self.signs, strict=True)
        return [
            (number, np.array(shape.vertices[::sign]))
            for number, (shape, sign) in enumerate(pairs)
            if isinstance(shape, Polygon)
        ]

    def depth(self, points: np.ndarray, numbers: Iterable[int]) -> np.ndarray:
        """Return the least depth in these shapes; removed ones have the other sign."""
        depths = [self.signs[k] * self.shapes[k].depth(points) for k in numbers]
        return np.min([np.full(len(points), math.inf), *depths], axis=0)


def corner_functions(domain: AbstractDomain) -> tuple[Singular, ...]:
    """Return the singular functions at the re-entrant corners of polygons.

    They belong to the Laplacian with Dirichlet conditions on both edges; the exponents
    are below 4. Polygons are the domain itself, and those that a difference removes:
    each convex corner of a hole is re-entrant. Where the jump of the angle meets the
    domain again, the functions vanish beyond the distance to the nearest other edge of
    any polygon. There are none for other shapes.
    """
    outline = _Outline.build(domain)
    loops = outline.loops()
    functions: list[Singular] = []
    for number, corners in loops:
        others = [k for k in range(len(outline.shapes)) if k != number]
        is_kept = outline.depth(corners, others) > _ROUNDING
        for k in np.flatnonzero(is_kept):
            after, before = corners[(k + 1) % len(corners)], corners[k - 1]
            start = _direction(after - corners[k])
            opening = (_direction(before - corners[k]) - start) % (2 * math.pi)
            if opening <= math.pi * (1 + _ROUNDING):
                continue
            jump = start + opening / 2 + math.pi
            radius = _radius(outline, corners[k], jump)
            at = (float(corners[k][0]), float(corners[k][1]))
            each = functions_of_opening(opening)
            functions += [Singular(fn, at, start, opening, radius) for fn in each]
    return tuple(functions)


def functions_of_opening(opening: float) -> list[CornerFunction]:
    """Return the singular functions at a corner with an angle."""
    found, exponent = [], math.pi / opening
    for k in range(1, math.ceil(_MAX_EXPONENT / exponent)):
        power, nearest = k * exponent, round(k * exponent)
        is_integer = abs(power - nearest) < _ROUNDING
        found.append(CornerFunction(nearest if is_integer else power, is_integer))
    return found


def _direction(vector: Corner) -> float:
    return math.atan2(vector[1], vector[0])


def _radius(outline: _Outline, corner: Corner, jump: float) -> float | None:
    """Return the distance to the nearest other edge if the ray in the direction `jump`,
    where the angle jumps, meets the domain again.

    Shapes that are no polygons are ignored: the ray may meet less of the domain.
    """
    loops = outline.loops()
    first = np.concatenate([corners for _, corners in loops]) - corner
    last = np.concatenate([np.roll(c, -1, axis=0) for _, c in loops]) - corner
    size = np.max(np.abs(first))
    is_other = np.any(first != 0, axis=1) & np.any(last != 0, axis=1)
    first, last = first[is_other], last[is_other]
    ray = np.array([math.cos(jump), math.sin(jump)])
    side, other_side = _cross(ray, first), _cross(ray, last)
    is_across = side * other_side <= _ROUNDING * size**2
    share = side / np.where(side == other_side, 1.0, side - other_side)
    edge = last - first
    places = (first + np.clip(share, 0, 1)[:, None] * edge)[is_across] @ ray
    places = np.sort([0.0, *places[places > 0]])
    places = np.append(places, places[-1] + size)
    is_gap = np.diff(places) > _ROUNDING * size
    middles = ((places[1:] + places[:-1]) / 2)[is_gap]
    polygons = [number for number, _ in loops]
    depth = outline.depth(corner + middles[:, None] * ray, polygons)
    if not np.any(depth > -_ROUNDING):
        return None
    nearest = -np.sum(first * edge, axis=1) / np.sum(edge**2, axis=1)
    nearest = first + np.clip(nearest, 0, 1)[:, None] * edge
    return float(np.min(np.linalg.norm(nearest, axis=1)))


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
