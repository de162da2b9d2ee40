"""The lid-driven cavity as it is usually posed: the whole lid slides at one speed."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._spectral import relative_difference
from ._stream import solve_flow
from .cavity import navier_stokes
from .conditions import Ansatz, Data
from .reference import Reference

Values = Float[Array, "..."]

# Of the flow in a corner: on the lid its velocity is one, on the wall it is zero.
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


class ClassicalCavity(Problem):
    """`Cavity` with `u = 1` on the whole lid.

    Where the lid meets a wall the velocity jumps, and pressure and vorticity grow like
    one over the distance. Their leading parts are known (`corner_stream`, Taylor 1962)
    and are part of the form of the solution, which meets the conditions at all walls
    exactly. What is left has a bounded slope at these corners, so the factor of the
    network vanishes there like the distance; the equations of momentum are multiplied
    by the distances to both corners, which makes their residual bounded.

    Good values: `reynolds = 100`.
    """

    reynolds: float = 100.0
    fields = ("u", "v", "p")
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        """Steady flow needs viscosity."""
        check_positive(reynolds=self.reynolds)

    def equations(self, u, v, p, x, y):
        """The balance of momentum in both directions, and that of mass."""
        found = navier_stokes(u, v, p, self.reynolds)
        distances = _distance(x, y) * _distance(1 - x, y)
        momentum = {n: distances * found[n] for n in ("momentum x", "momentum y")}
        return momentum | {"mass": found["mass"]}

    def conditions(self):
        """An ansatz for the walls, and the level of the pressure."""

        def solution(x, y, N_u, N_v, N_p):
            slope_x, slope_y = jax.grad(known_stream, (0, 1))(x, y)
            wall = x * (1 - x) * y * (1 - y)
            wall = wall / (_distance(x, y) * _distance(1 - x, y))
            p = known_pressure(x, y) / self.reynolds
            return slope_y + wall * N_u, -slope_x + wall * N_v, p + N_p

        return [Ansatz(solution), Data([[0.5, 0.0]], [0.0], of="p")]

    def reference(self) -> Reference:
        """The velocities of the known part and 48 x 48 polynomials, on 100 x 100 points
        between the walls.

        Their error is the distance to those of 40 x 40 polynomials, which is the error
        of these: nearly all of it is close to the two corners. The pressure is not
        compared.
        """
        axis = (np.arange(100) + 0.5) / 100
        flows = [solve_flow(known_stream, float(self.reynolds), n) for n in (40, 48)]
        coarse, values = (np.stack(flow.velocity(axis, axis)) for flow in flows)
        error = relative_difference(coarse, values)
        fields = {"u": values[0], "v": values[1]}
        return Reference({"x": axis, "y": axis}, fields, error)

    @staticmethod
    def ghia() -> dict[str, tuple[Float[np.ndarray, "17 2"], Float[np.ndarray, "17"]]]:
        """Points and velocities of Ghia, Ghia and Shin (1982) at a Reynolds number of
        100: `u` on the line `x = 0.5` and `v` on the line `y = 0.5`.

        A solution on 129 x 129 points by a method of second order. It is up to 0.005 in
        `u` and 0.009 in `v` from the converged one, and one entry, `u` at `y = 0.0703`,
        lies 0.001 off the curve through its neighbours.
        """
        y, u = np.transpose(_GHIA_U)
        x, v = np.transpose(_GHIA_V)
        half = np.full(17, 0.5)
        return {
            "u": (np.stack([half, y], axis=1), u),
            "v": (np.stack([x, half], axis=1), v),
        }


def known_stream(x: Values, y: Values) -> Values:
    """A stream function that meets all conditions at the walls, and is that of the
    corner flow, to third order, at each of the upper corners."""
    left, right = corner_stream(x, y - 1), corner_stream(1 - x, y - 1)
    return _fade(1 - y) * (_fade(x) * left + _fade(1 - x) * right)


def known_pressure(x: Values, y: Values) -> Values:
    """The pressure of the corner flows times the Reynolds number."""
    left, right = _corner_pressure(x, y - 1), _corner_pressure(1 - x, y - 1)
    return _fade(1 - y) * (_fade(x) * left - _fade(1 - x) * right)


def corner_stream(x: Values, y: Values) -> Values:
    """Slow flow between a lid `y = 0`, which slides with velocity one, and a wall
    `x = 0`, below the lid (Taylor 1962): `a y + (b x + c y) angle`."""
    angle = 2 * jnp.arctan(y / (x + _distance(x, 1 + y)))
    return _UNIFORM * y + (_ALONG * x + _ACROSS * y) * angle


def _corner_pressure(x: Values, y: Values) -> Values:
    """Its pressure, for a viscosity of one."""
    return 2 * (_ALONG * x + _ACROSS * y) / _distance(x, 1 + y) ** 2


def _distance(x: Values, y: Values) -> Values:
    """From the corner `(0, 1)`; one in it, where it may divide zero."""
    square = x**2 + (1 - y) ** 2
    return jnp.sqrt(jnp.where(square == 0, 1.0, square))


def _fade(x: Values) -> Values:
    """From one to zero on [0, 1], level to second order at both ends."""
    return (1 - x) ** 3 * (1 + 3 * x + 6 * x**2)
