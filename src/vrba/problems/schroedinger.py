"""Nonlinear Schroedinger: a moving bright soliton."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_between, check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz
from .reference import Reference, exact_reference

_END = 5.0


class Schroedinger(Problem):
    """`i h_t + h_xx / 2 + |h|^2 h = 0` for `h = u + i v`, given at `t = 0` and at
    `x = -5` and 5.

    The soliton `|h| = amplitude sech(amplitude (x - speed t))` keeps its shape, as
    focusing balances dispersion. Its phase changes at the rate
    `(amplitude^2 - speed^2) / 2`. The initial and boundary conditions are hard
    constraints.

    Good values: `amplitude = 2`, `speed = 1`, up to `t = pi / 2`. Doubling the
    amplitude halves the width and, at rest, quadruples the rate of the phase.
    """

    amplitude: float = 2.0
    speed: float = 1.0
    fields = ("u", "v")
    domain = Box(t=(0, math.pi / 2), x=(-_END, _END))

    def __check_init__(self):
        check_positive(amplitude=self.amplitude)
        check_between(speed=(self.speed, -3.0, 3.0))

    @override
    def equations(self, u, v, t, x):
        density = u**2 + v**2
        real = -v.t + u.xx / 2 + density * u
        return {"real": real, "imaginary": u.t + v.xx / 2 + density * v}

    @override
    def conditions(self):
        soliton = lambda t, x: _soliton(jnp, t, x, self.amplitude, self.speed)

        def solution(t, x, U, V):
            start, end = jnp.zeros_like(t), _END * jnp.ones_like(x)
            right = (1 + x / _END) / 2
            factor = 4 * t * right * (1 - right)
            initial, found = soliton(start, x), []
            for name, N in (("u", U), ("v", V)):
                change = lambda x, name=name: (
                    soliton(t, x)[name] - soliton(start, x)[name]
                )
                sides = (1 - right) * change(-end) + right * change(end)
                found.append(initial[name] + sides + factor * N)
            return tuple(found)

        return [Ansatz(solution)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 401 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _soliton(np, t, x, self.amplitude, self.speed)
        return exact_reference(self.domain, solution, 201, 401)


def _soliton(xp: Any, t: Any, x: Any, amplitude: float, speed: float) -> dict[str, Any]:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    decay = xp.exp(-xp.abs(amplitude * (x - speed * t)))  # sech without overflow
    size = 2 * amplitude * decay / (1 + decay**2)
    phase = speed * x + (amplitude**2 - speed**2) / 2 * t
    return {"u": size * xp.cos(phase), "v": size * xp.sin(phase)}
