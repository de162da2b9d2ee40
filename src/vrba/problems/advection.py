"""Advection: a wave that runs round the domain many times."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz, FourierFeatures, Periodic
from .reference import Reference


class Advection(Problem):
    """`u_t + speed u_x = 0`, `u(0, x) = sin(x)`, periodic in `x`.

    The wave keeps its shape and runs round `speed / (2 pi)` times. What is wrong at one
    time is carried on to all later ones, so a network that has not learnt the early
    times learns nothing about the late ones. The initial values and the period hold
    exactly, by the form of the solution.

    Good values: `speed = 30`, the usual test, to 80.
    """

    speed: float = 30.0
    domain = Box(t=(0, 1), x=(0, 2 * np.pi))

    def __check_init__(self):
        """To the right."""
        check_positive(speed=self.speed)

    def equations(self, u, t, x):
        """The balance of mass."""
        return {"mass": u.t + self.speed * u.x}

    def conditions(self):
        """Periodicity, and an ansatz with the initial values."""
        waves = FourierFeatures("t", modes=math.ceil(self.speed / math.pi) + 2)
        return [Periodic("x"), waves, Ansatz(lambda t, x, N: jnp.sin(x) + t * N)]

    def reference(self) -> Reference:
        """The exact solution on 401 x 129 points."""
        solution = lambda t, x: _wave(np, t, x, self.speed)
        return exact_reference(self.domain, solution, 401, 129)


def _wave(xp: Any, t: Any, x: Any, speed: float) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    return xp.sin(x - speed * t)
