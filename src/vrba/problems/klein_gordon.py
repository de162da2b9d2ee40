"""Klein-Gordon: a nonlinear wave equation with a source."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz, Dirichlet, Penalty
from .reference import Reference


class KleinGordon(Problem):
    """`u_tt - u_xx + u^3 = f`, `u(0, x) = x`, `u_t(0, x) = 0`, with `u` given at
    `x = 0` and 1.

    The source and the values are chosen so that `u = x cos(frequency pi t) + (t x)^3`.
    The initial values and `u = 0` at `x = 0` hold exactly, by the form of the solution.
    The values at `x = 1` are a term of the loss: a form that held them would hold the
    oscillation, too, and nothing would be left to learn.

    Good values: `frequency = 5`, the usual test.
    """

    frequency: float = 5.0
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        """It oscillates."""
        check_positive(frequency=self.frequency)

    def equations(self, u, t, x):
        """The balance of inertia, tension, spring and source."""
        u_exact = _oscillation(jnp, t, x, self.frequency)
        angle = jnp.pi * self.frequency
        u_tt = 6 * t * x**3 - angle**2 * x * jnp.cos(angle * t)
        source = u_tt - 6 * t**3 * x + u_exact**3
        return {"motion": u.tt - u.xx + u**3 - source}

    def conditions(self):
        """An ansatz that meets them all but one."""
        values = lambda t, x: _oscillation(jnp, t, x, self.frequency)
        end = Dirichlet(values, on="x", at=1, penalty=Penalty(weight=100.0))
        # `t^2` early and near one after a radian, as for `Wave`.
        radian = 1 / (np.pi * self.frequency)

        def solution(t, x, N):
            return x + t**2 / (t**2 + radian**2) * x * N

        return [Ansatz(solution), end]

    def reference(self) -> Reference:
        """The exact solution on 201 x 201 points."""
        solution = lambda t, x: _oscillation(np, t, x, self.frequency)
        return exact_reference(self.domain, solution, 201, 201)


def _oscillation(xp: Any, t: Any, x: Any, frequency: float) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    return x * xp.cos(np.pi * frequency * t) + (t * x) ** 3
