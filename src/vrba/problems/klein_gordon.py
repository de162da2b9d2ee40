"""Klein-Gordon: a nonlinear wave equation with a source."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz, Dirichlet, Penalty
from .reference import Reference, exact_reference


class KleinGordon(Problem):
    """`u_tt - u_xx + u^3 = f`, `u(0, x) = x`, `u_t(0, x) = 0`, with `u` given at
    `x = 0` and 1.

    The source and the values give the solution `u = x cos(frequency pi t) + (t x)^3`.
    The initial conditions and `u = 0` at `x = 0` are hard constraints. The values at
    `x = 1` are a loss term, because an ansatz with these values would already contain
    the oscillation.

    Good values: `frequency = 5`, the usual test.
    """

    frequency: float = 5.0
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        check_positive(frequency=self.frequency)

    @override
    def equations(self, u, t, x):
        u_exact = _oscillation(jnp, t, x, self.frequency)
        angle = jnp.pi * self.frequency
        u_tt = 6 * t * x**3 - angle**2 * x * jnp.cos(angle * t)
        source = u_tt - 6 * t**3 * x + u_exact**3
        return {"motion": u.tt - u.xx + u**3 - source}

    @override
    def conditions(self):
        """Return an ansatz, and the values at `x = 1` as a loss term."""
        values = lambda t, x: _oscillation(jnp, t, x, self.frequency)
        end = Dirichlet(values, on="x", at=1, penalty=Penalty(weight=100.0))
        # The factor is `t^2` early and close to one after a radian, as in `Wave`.
        radian = 1 / (np.pi * self.frequency)

        def solution(t, x, N):
            return x + t**2 / (t**2 + radian**2) * x * N

        return [Ansatz(solution), end]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _oscillation(np, t, x, self.frequency)
        return exact_reference(self.domain, solution, 201, 201)


def _oscillation(xp: Any, t: Any, x: Any, frequency: float) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    return x * xp.cos(np.pi * frequency * t) + (t * x) ** 3
