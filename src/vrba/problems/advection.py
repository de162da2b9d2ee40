"""Advection of a wave over many periods."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz, FourierFeatures, Periodic
from .reference import Reference, exact_reference


class Advection(Problem):
    """`u_t + speed u_x = 0`, `u(0, x) = sin(x)`, periodic in `x`.

    The wave keeps its shape and crosses the domain `speed / (2 pi)` times. An error at
    one time propagates to all later times, so a network has to learn early times first.
    The initial condition and the periodicity are hard constraints.

    Good values: `speed = 30`, the usual test, to 80.
    """

    speed: float = 30.0
    domain = Box(t=(0, 1), x=(0, 2 * np.pi))

    def __check_init__(self):
        check_positive(speed=self.speed)

    @override
    def equations(self, u, t, x):
        return {"mass": u.t + self.speed * u.x}

    @override
    def conditions(self):
        features = FourierFeatures("t", modes=math.ceil(self.speed / math.pi) + 2)
        return [Periodic("x"), features, Ansatz(lambda t, x, N: jnp.sin(x) + t * N)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 401 x 129 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _wave(np, t, x, self.speed)
        return exact_reference(self.domain, solution, 401, 129)


def _wave(xp: Any, t: Any, x: Any, speed: float) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    return xp.sin(x - speed * t)
