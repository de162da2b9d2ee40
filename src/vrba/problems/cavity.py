"""The lid-driven cavity, with a smooth and with the classical lid velocity."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.polynomial import Polynomial
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._corner import inertial_stream, inertial_terms
from ._refinement import refine
from ._spectral import relative_difference
from ._stream import Derivatives, add_derivatives, automatic_derivatives, solve_flow
from .conditions import Ansatz, Data
from .reference import Reference

Values = Float[Array, "..."]

# Coefficients of the corner flow: velocity one on the lid, zero on the wall.
_ALONG = 1 / (1 - math.pi**2 / 4)
_ACROSS = -_ALONG * math.pi / 2
_UNIFORM = _ACROSS * math.pi / 2

# Ghia, Ghia and Shin (1982), tables I and II, Reynolds number 100.
_GHIA_U = (
    (1.0000, 1.00000), (0.9766, 0.84123), (0.9688, 0.78871), (0.9609, 0.73722),
    (0.9531, 0.68717), (0.8516, 0.23151), (0.7344, 0.00332), (0.6172, -0.13641),
    (0.5000, -0.20581), (0.4531, -0.21090), (0.2813, -0.15662), (0.1719, -0.10150),
    (0.1016, -0.06434), (0.0703, -0.04775), (0.0625, -0.04192), (0.0547, -0.03717),
    (0.0000, 0.00000),
)  # fmt: skip
_GHIA_V = (
    (1.0000, 0.00000), (0.9688, -0.05906), (0.9609, -0.07391), (0.9531, -0.08864),
    (0.9453, -0.10313), (0.9063, -0.16914), (0.8594, -0.22445), (0.8047, -0.24533),
    (0.5000, 0.05454), (0.2344, 0.17527), (0.2266, 0.17507), (0.1563, 0.16077),
    (0.0938, 0.12317), (0.0781, 0.10890), (0.0703, 0.10091), (0.0625, 0.09233),
    (0.0000, 0.00000),
)  # fmt: skip


class Cavity(Problem):
    """`(u, v) . grad (u, v) + grad p = lap (u, v) / reynolds`, `u_x + v_y = 0`, in the
    unit square; at rest on three walls, `u = 16 x^2 (1 - x)^2` on the lid `y = 1`.

    The flow has one large vortex above the centre, and two weak ones in the lower
    corners. The lid velocity falls to zero at its ends, so the velocity is continuous
    and the vorticity bounded; in `ClassicalCavity` they are not.

    The wall velocities are hard constraints: the ansatz adds a network that vanishes at
    the walls to the velocity of a known stream function. The pressure, determined up to
    a constant, is set to zero in the lower left corner.

    Good values: `reynolds = 100`. Above 400 the boundary layers become thin.
    """

    reynolds: float = 100.0
    fields = ("u", "v", "p")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_positive(reynolds=self.reynolds)

    @override
    def equations(self, u, v, p, x, y):
        return navier_stokes(u, v, p, self.reynolds)

    @override
    def conditions(self):
        """Return an ansatz for the walls and a value that fixes the pressure."""

        def solution(x, y, N_u, N_v, N_p):
            slope = 32 * x * (1 - x) * (1 - 2 * x)  # of the lid velocity
            wall = 16 * x * (1 - x) * y * (1 - y)
            u = lid(x) * (3 * y - 2) * y + wall * N_u
            v = slope * (1 - y) * y**2 + wall * N_v
            return u, v, N_p

        return [Ansatz(solution), Data([[0.0, 0.0]], [0.0], field="p")]

    @override
    def reference(self) -> Reference:
        """Return the velocities from 96 x 96 polynomials on 101 x 101 points.

        The error is the difference from 80 x 80 polynomials, an upper estimate. The
        pressure is not compared.
        """
        axis = np.linspace(0, 1, 101)
        return _reference(smooth_lid_stream, [], self.reynolds, axis)


class ClassicalCavity(Problem):
    """`Cavity` with `u = 1` on the whole lid.

    Where the lid meets a wall, the velocity jumps, and pressure and vorticity grow like
    one over the distance. The ansatz contains their known leading parts
    (`corner_stream`, Taylor 1962) and satisfies all wall conditions. The remainder has
    bounded derivatives at these corners, so the factor of the network vanishes there
    like the distance. The momentum equations are multiplied by the distances to both
    corners, which bounds their residuals.

    Good values: `reynolds = 100`.
    """

    reynolds: float = 100.0
    fields = ("u", "v", "p")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_positive(reynolds=self.reynolds)

    @override
    def equations(self, u, v, p, x, y):
        found = navier_stokes(u, v, p, self.reynolds)
        distances = _distance(x, y) * _distance(1 - x, y)
        momentum = {n: distances * found[n] for n in ("momentum x", "momentum y")}
        return momentum | {"mass": found["mass"]}

    @override
    def conditions(self):
        """Return an ansatz for the walls and a value that fixes the pressure."""

        def solution(x, y, N_u, N_v, N_p):
            slope_x, slope_y = jax.grad(classical_stream, (0, 1))(x, y)
            wall = x * (1 - x) * y * (1 - y)
            wall = wall / (_distance(x, y) * _distance(1 - x, y))
            p = classical_pressure(x, y) / self.reynolds
            return slope_y + wall * N_u, -slope_x + wall * N_v, p + N_p

        return [Ansatz(solution), Data([[0.5, 0.0]], [0.0], field="p")]

    @override
    def reference(self) -> Reference:
        """Return the velocities from 96 x 96 polynomials on 100 x 100 inner points.

        The error is the difference from 80 x 80 polynomials, an upper estimate; nearly
        all of it is near the corners. The pressure is not compared.
        """
        axis = (np.arange(100) + 0.5) / 100
        inertia = [corner_inertia(self.reynolds)]
        return _reference(classical_stream, inertia, self.reynolds, axis)

    @staticmethod
    def ghia() -> dict[str, tuple[Float[np.ndarray, "17 2"], Float[np.ndarray, "17"]]]:
        """Return the points and velocities of Ghia, Ghia and Shin (1982).

        `u` is on the line `x = 0.5`, `v` on the line `y = 0.5`; the Reynolds number is
        100. The second-order solution on 129 x 129 points deviates from the converged
        one by up to 0.005 in `u` and 0.009 in `v`. The entry `u` at `y = 0.0703` is
        0.001 off the curve through its neighbours.
        """
        y, u = np.transpose(_GHIA_U)
        x, v = np.transpose(_GHIA_V)
        half = np.full(17, 0.5)
        return {
            "u": (np.stack([half, y], axis=1), u),
            "v": (np.stack([x, half], axis=1), v),
        }


def _reference(
    stream_fn: Callable[..., Any],
    added: list[Derivatives],
    reynolds: float,
    axis: Float[np.ndarray, " places"],
) -> Reference:
    """Return the velocities from 96 x 96 polynomials and known stream functions.

    The error is the difference from 80 x 80 polynomials.
    """
    slow = automatic_derivatives(stream_fn)
    start = solve_flow(slow, float(reynolds), 32)
    known = add_derivatives(slow, *added)
    flows = [refine(start, known, float(reynolds), size) for size in (80, 96)]
    coarse, values = (np.stack(flow.velocity(axis, axis)) for flow in flows)
    error = relative_difference(coarse, values)
    fields = {"u": values[0], "v": values[1]}
    return Reference({"x": axis, "y": axis}, fields, error)


def navier_stokes(u, v, p, reynolds):
    """Return the residuals of steady plane flow."""
    return {
        "momentum x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / reynolds,
        "momentum y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / reynolds,
        "mass": u.x + v.y,
    }


def lid(x):
    """Return the velocity of the lid."""
    return 16 * x**2 * (1 - x) ** 2


def smooth_lid_stream(x, y):
    """Return a stream function with the wall velocities of `Cavity`."""
    return lid(x) * (y - 1) * y**2


def classical_stream(x: Values, y: Values) -> Values:
    """Return a stream function with the wall velocities of `ClassicalCavity`.

    At each upper corner it agrees with the corner flow to third order.
    """
    left, right = corner_stream(x, y - 1), corner_stream(1 - x, y - 1)
    return _fade(1 - y) * (_fade(x) * left + _fade(1 - x) * right)


def corner_inertia(reynolds: float) -> Derivatives:
    """Return three terms of inertia at the upper corners, to add to the stream.

    The rest grows like the power 3.74 of the distance to any corner (Moffatt 1964).
    """

    def slow(angle):
        turned = _ALONG * np.cos(angle) + _ACROSS * np.sin(angle)
        return _UNIFORM * np.sin(angle) + angle * turned

    fade = _fade(Polynomial([0, 1]))
    return inertial_stream(inertial_terms(slow, 3), fade, reynolds)


def classical_pressure(x: Values, y: Values) -> Values:
    """Return the pressure of the corner flows times the Reynolds number."""
    left, right = _corner_pressure(x, y - 1), _corner_pressure(1 - x, y - 1)
    return _fade(1 - y) * (_fade(x) * left - _fade(1 - x) * right)


def corner_stream(x: Values, y: Values) -> Values:
    """Return the stream function of slow flow in a corner (Taylor 1962).

    The lid `y = 0` moves with velocity one; the wall `x = 0` is below it. The form is
    `a y + (b x + c y) angle`.
    """
    angle = 2 * jnp.arctan(y / (x + _distance(x, 1 + y)))
    return _UNIFORM * y + (_ALONG * x + _ACROSS * y) * angle


def _corner_pressure(x: Values, y: Values) -> Values:
    """Return the pressure of `corner_stream` for a viscosity of one."""
    return 2 * (_ALONG * x + _ACROSS * y) / _distance(x, 1 + y) ** 2


def _distance(x: Values, y: Values) -> Values:
    """Return the distance from `(0, 1)`, and one at that point, to divide by."""
    square = x**2 + (1 - y) ** 2
    return jnp.sqrt(jnp.where(square == 0, 1.0, square))


def _fade(x: Any) -> Any:
    """Return a polynomial from one to zero on [0, 1], flat to second order."""
    return (1 - x) ** 3 * (1 + 3 * x + 6 * x**2)
