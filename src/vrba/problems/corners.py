"""Singular functions at the re-entrant corners of a polygon."""

import math

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


def corner_functions(domain: AbstractDomain) -> tuple[Singular, ...]:
    """Return the singular functions at the re-entrant corners of a polygon.

    They belong to the Laplacian with Dirichlet conditions on both edges; the exponents
    are below 4. Where the jump of the angle meets the domain again, the functions
    vanish beyond the distance to the nearest other edge. A polygon may have holes.
    There are none for other shapes.
    """
    if isinstance(domain, Difference):
        found = corner_functions(domain.first)
        return tuple(one for one in found if domain.second.depth(_row(one.at))[0] < 0)
    if not isinstance(domain, Polygon):
        return ()
    corners = np.array(domain.vertices)
    functions: list[Singular] = []
    for k, corner in enumerate(corners):
        start = _direction(corners[(k + 1) % len(corners)] - corner)
        opening = (_direction(corners[k - 1] - corner) - start) % (2 * math.pi)
        if opening > math.pi * (1 + _ROUNDING):
            radius = _radius(corners, k, start + opening / 2 + math.pi)
            at = (float(corner[0]), float(corner[1]))
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


def _row(at: tuple[float | int, float | int]) -> Float[np.ndarray, "1 2"]:
    return np.array([at], float)


def _direction(vector: Corner) -> float:
    return math.atan2(vector[1], vector[0])


def _radius(corners: np.ndarray, number: int, jump: float) -> float | None:
    """Return the distance to the nearest other edge if the ray in the direction `jump`,
    where the angle jumps, meets the polygon again."""
    ray = np.array([math.cos(jump), math.sin(jump)])
    ends = np.roll(corners, -1, axis=0)
    is_other = ~np.isin(np.arange(len(corners)), (number, (number - 1) % len(corners)))
    first = (corners - corners[number])[is_other]
    last = (ends - corners[number])[is_other]
    side, other_side = _cross(ray, first), _cross(ray, last)
    size = np.max(np.abs(corners - corners[number]))
    is_across = side * other_side <= _ROUNDING * size**2
    share = side / np.where(side == other_side, 1.0, side - other_side)
    place = first + share[:, None] * (last - first)
    if not np.any(is_across & (place @ ray > -_ROUNDING * size)):
        return None
    edge = last - first
    nearest = -np.sum(first * edge, axis=1) / np.sum(edge**2, axis=1)
    nearest = first + np.clip(nearest, 0, 1)[:, None] * edge
    return float(np.min(np.linalg.norm(nearest, axis=1)))


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
