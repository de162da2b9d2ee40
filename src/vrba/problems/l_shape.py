"""Poisson's equation on an L-shaped domain, with a re-entrant corner."""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float
from typing_extensions import override

from ..domains import Box
from ._base import Problem
from .conditions import Ansatz, Singular
from .reference import Reference

Places = Complex[np.ndarray, " points"]

_DIRECTION = np.exp(0.75j * np.pi)  # from the inner corner to the middle
_OUTLINE = np.array([1, 1 + 1j, 1j, -1 + 1j, -1, -1 - 1j, -1j])  # the outer edges
_CORNERS = _OUTLINE[[0, 1, 3, 5, 6]]


class LShape(Problem):
    """`-u_xx - u_yy = 1` on the square from -1 to 1 without its quadrant `x > 0`,
    `y < 0`; `u = 0` on the boundary.

    At the inner corner, `u` is 0.40 times `r^(2/3) sin(2 angle / 3)` to leading order,
    in polar coordinates about it, so its gradient is unbounded. The ansatz multiplies
    this function by the network and by a factor that vanishes on the outer edges. The
    next terms, like `r^2 log r`, are known and added (`inner_part`). All conditions are
    hard constraints. The residual can grow like `r^(-1/3)` at the corner; the equation
    is multiplied by `r^(1/3)`, which bounds it. What is still singular in the factor of
    the ansatz is listed for the linear stage (`singular_functions`).
    """

    domain = Box(x=(-1, 1), y=(-1, 1)) - Box(x=(0, 2), y=(-2, 0))

    @override
    def equations(self, u, x, y):
        return {"load": (x**2 + y**2) ** (1 / 6) * (u.xx + u.yy + 1)}

    @override
    def conditions(self):

        def solution(x, y, N):
            edges = (1 - x**2) * (1 - y**2)
            return edges * (inner_part(jnp, x, y) + corner_part(x, y) * N)

        return [Ansatz(solution), *singular_functions()]

    @override
    def reference(self) -> Reference:
        """Return the method of particular solutions on 201 x 201, NaN outside.

        The error is certified: the solution satisfies the equation exactly, so by the
        maximum principle its error is largest on the boundary. It is the largest
        boundary value over the root mean square of the solution.
        """
        found = Membrane.solve(num_powers=80, num_logarithms=9)
        fn = lambda x, y: found(x + 1j * y)
        plain = Reference.from_function(self.domain, fn, (201, 201))
        size = np.sqrt(np.nanmean(plain.values**2))
        error = float(found.boundary_error(num_points=1000) / size)
        return dataclasses.replace(plain, error=error)


class Membrane(NamedTuple):
    """`inner_part` plus harmonic functions, fitted to zero on the outer edges.

    The harmonic functions vanish on both edges at the inner corner. With `w = z^(2/3)`,
    rotated so that these edges are real, they are the imaginary parts of powers of `w`
    and of `(w - c)^n log(w - c)`, the singular terms at each right-angled corner `c`,
    minus their mirror images.
    """

    num_powers: int
    num_logarithms: int
    coefficients: Float[np.ndarray, " functions"]

    @staticmethod
    def solve(num_powers: int, num_logarithms: int) -> "Membrane":
        """Fit the coefficients by least squares.

        The functions differ in size and are nearly dependent: they are scaled.
        """
        z = _outer_edges(300)
        matrix = _functions(z, num_powers, num_logarithms)
        sizes = np.linalg.norm(matrix, axis=0)
        target = -inner_part(np, np.real(z), np.imag(z))
        found, *_ = np.linalg.lstsq(matrix / sizes, target, rcond=1e-15)
        return Membrane(num_powers, num_logarithms, found / sizes)

    def __call__(self, z: Places) -> Float[np.ndarray, " points"]:
        """Evaluate the solution at `z = x + i y`."""
        functions = _functions(z, self.num_powers, self.num_logarithms)
        return inner_part(np, np.real(z), np.imag(z)) + functions @ self.coefficients

    def boundary_error(self, num_points: int) -> float:
        """Return the largest absolute value at `num_points` of each outer edge."""
        return float(np.max(np.abs(self(_outer_edges(num_points)))))


def _outer_edges(num_points: int) -> Places:
    """Return points on the outer edges, denser towards their ends."""
    share = (1 - np.cos(np.pi * (np.arange(num_points) + 0.5) / num_points)) / 2
    return np.ravel(_OUTLINE[:-1, None] + np.diff(_OUTLINE)[:, None] * share)


def _functions(
    z: Places, num_powers: int, num_logarithms: int
) -> Float[np.ndarray, "points functions"]:
    fold = lambda z: 1j * (z / _DIRECTION) ** (2 / 3)
    w, corners = fold(z), fold(_CORNERS)
    scale = np.max(np.abs(corners))
    found = [np.imag((w / scale) ** k) for k in range(1, num_powers + 1)]
    for corner in corners:
        is_real = np.isclose(corner.imag, 0)
        for n in range(2, num_logarithms + 2):
            part = _logarithm(1 - w / corner, n)
            if is_real:
                found.append(np.imag(part))
            else:
                mirrored = _logarithm(1 - w.conj() / corner, n)
                found += [np.imag(part - mirrored), np.real(part - mirrored)]
    return np.stack(found, axis=1)


def _logarithm(w: Places, power: int) -> Places:
    return w**power * np.log(np.where(w == 0, 1, w))


def inner_part(xp: Any, x: Any, y: Any) -> Any:
    """Return `-y^2 / 2 - Im(z^2 log z) / (3 pi)` with `z = x + i y`.

    It solves the equation and vanishes on both edges at the inner corner. `xp` is
    `numpy` or `jax.numpy`.
    """
    square = x**2 + y**2
    logarithm = xp.log(xp.where(square == 0, 1.0, square)) / 2
    angle = _angle(xp, x, y) + 0.75 * np.pi
    rest = 2 * x * y * logarithm + (x**2 - y**2) * angle
    return -(y**2) / 2 - rest / (3 * np.pi)


def corner_part(x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
    """Return `r^(2/3) sin(2 angle / 3)`, the leading term at the inner corner."""
    square = x**2 + y**2
    size = jnp.where(square == 0, 1.0, square) ** (1 / 3)
    return jnp.where(square == 0, 0.0, size * jnp.cos(2 / 3 * _angle(jnp, x, y)))


def singular_functions() -> list[Singular]:
    """Return what is singular in the factor `N` of the ansatz.

    At the inner corner: the next functions `r^(2k/3) sin(2k phi/3)`, divided by the
    leading one. At each outer corner: a solution of the equation in a right angle,
    divided by the coordinates along both edges. It is unbounded like `log(r)`.
    """
    right, inner = math.pi / 2, 1.5 * math.pi
    corners = [(1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)]
    starts = [right, math.pi, -right, 0.0, right]
    orders = [functools.partial(_quotient, k) for k in range(2, 6)]
    return [
        *(Singular(fn, at=(0, 0), opening=inner) for fn in orders),
        *(
            Singular(_right_angle, at=at, start=start, opening=right)
            for at, start in zip(corners, starts, strict=True)
        ),
    ]


def _quotient(order: int, r: Float[Array, ""], phi: Float[Array, ""]) -> Any:
    """Return `r^(2 (k - 1) / 3) sin(2 k phi / 3) / sin(2 phi / 3)`."""
    waves = [jnp.cos(2 / 3 * (order - 1 - 2 * j) * phi) for j in range(order)]
    return r ** (2 / 3 * (order - 1)) * sum(waves)


def _right_angle(r: Float[Array, ""], phi: Float[Array, ""]) -> Any:
    """Return `log(r) + (pi / 4 - b sin(2 b)) / cos(2 b)` with `b = phi - pi / 4`.

    It is `-pi / 2` times a solution of `u_xx + u_yy = -1` that is zero where `x = 0` or
    `y = 0`, divided by `x y`. It is written without the quotient of zeros at the edges.
    """
    angle = jnp.where(phi < math.pi / 4, phi, math.pi / 2 - phi)  # it is even in `b`
    is_edge = jnp.abs(angle) < jnp.finfo(angle.dtype).eps
    safe = jnp.where(is_edge, 1.0, angle)
    ratio = jnp.where(is_edge, 0.5, safe * jnp.cos(2 * safe) / jnp.sin(2 * safe))
    return jnp.log(r) + math.pi / 4 * jnp.tan(angle) + ratio


def _angle(xp: Any, x: Any, y: Any) -> Any:
    """Return the angle from the domain's axis of symmetry; zero in the corner.

    It lies between -3 pi / 4 and 3 pi / 4.
    """
    square = x**2 + y**2
    distance = xp.sqrt(xp.where(square == 0, 1.0, square))
    along, across = (y - x) / np.sqrt(2), -(x + y) / np.sqrt(2)
    return 2 * xp.arctan(across / (distance + along))
