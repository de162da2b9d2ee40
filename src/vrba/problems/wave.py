"""Wave equation: a string that vibrates in two modes."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz, FourierFeatures
from .reference import Reference, exact_reference


class Wave(Problem):
    """`u_tt = speed^2 u_xx`, `u(0, x) = sin(pi x) + sin(4 pi x) / 2`, `u_t(0, x) = 0`,
    `u = 0` at `x = 0` and 1.

    The fast mode has four times the frequency of the slow one. There is no damping, so
    early errors persist. All conditions are hard constraints.

    Good values: `speed = 2`, the usual test, with one and four periods.
    """

    speed: float = 2.0
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        check_positive(speed=self.speed)

    @override
    def equations(self, u, t, x):
        return {"motion": u.tt - self.speed**2 * u.xx}

    @override
    def conditions(self):
        # The factor is `t^2` early and close to one after a radian of the fast mode.
        # With a plain `t^2` the network would have to be hundreds of times larger
        # early than late.
        radian = 1 / (4 * math.pi * self.speed)

        def solution(t, x, N):
            initial = _modes(jnp, jnp.zeros_like(t), x, self.speed)
            rise = t**2 / (t**2 + radian**2)
            return initial + 4 * rise * x * (1 - x) * N

        return [
            Ansatz(solution),
            FourierFeatures("t", modes=math.ceil(4 * self.speed) + 2),
        ]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _modes(np, t, x, self.speed)
        return exact_reference(self.domain, solution, 201, 201)


def _modes(xp: Any, t: Any, x: Any, speed: float) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    angle = np.pi * speed
    slow = xp.sin(np.pi * x) * xp.cos(angle * t)
    return slow + xp.sin(4 * np.pi * x) * xp.cos(4 * angle * t) / 2
