"""Wave: a string that swings in two tones at once."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz, FourierFeatures
from .reference import Reference


class Wave(Problem):
    """`u_tt = speed^2 u_xx`, `u(0, x) = sin(pi x) + sin(4 pi x) / 2`, `u_t(0, x) = 0`,
    `u = 0` at `x = 0` and 1.

    The high tone swings four times as fast as the low one, and nothing decays: an error
    made early stays. All conditions hold exactly, by the form of the solution.

    Good values: `speed = 2`, the usual test, where the tones swing once and four times.
    """

    speed: float = 2.0
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        """FourierFeatures move."""
        check_positive(speed=self.speed)

    def equations(self, u, t, x):
        """The balance of inertia and tension."""
        return {"motion": u.tt - self.speed**2 * u.xx}

    def conditions(self):
        """An ansatz that meets them all, and time as waves."""

        # `t^2` early, near one after a radian of the high tone: to undo a plain `t^2`
        # the network would have to be hundreds of times larger early than late.
        radian = 1 / (4 * math.pi * self.speed)

        def solution(t, x, N):
            initial = _tones(jnp, jnp.zeros_like(t), x, self.speed)
            rise = t**2 / (t**2 + radian**2)
            return initial + 4 * rise * x * (1 - x) * N

        return [
            Ansatz(solution),
            FourierFeatures("t", modes=math.ceil(4 * self.speed) + 2),
        ]

    def reference(self) -> Reference:
        """The exact solution on 201 x 201 points."""
        solution = lambda t, x: _tones(np, t, x, self.speed)
        return exact_reference(self.domain, solution, 201, 201)


def _tones(xp: Any, t: Any, x: Any, speed: float) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    angle = np.pi * speed
    low = xp.sin(np.pi * x) * xp.cos(angle * t)
    return low + xp.sin(4 * np.pi * x) * xp.cos(4 * angle * t) / 2
