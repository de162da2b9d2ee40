"""The Fisher-KPP equation: a front that invades an unstable state."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference


class FisherKPP(Problem):
    """`u_t = u_xx + u (1 - u)` for `t` from 0 to 2 and `x` from -10 to 10.

    The solution is the front of Ablowitz and Zeppetella (1979), which has the speed
    `5 / sqrt(6)`: `u = (1 + e^((x - 5 t / sqrt(6)) / sqrt(6)))^-2`. It gives the
    initial values and the values at both ends. Ahead of the front `u = 0` is unstable:
    errors grow there like `e^t`.
    """

    domain = Box(t=(0, 2), x=(-10, 10))

    @override
    def equations(self, u, t, x):
        return {"reaction": u.t - u.xx - u * (1 - u)}

    @override
    def conditions(self):
        exact = lambda t, x: _solution(jnp, t, x)
        return [Initial(lambda x: exact(0.0, x)), Dirichlet(exact, on="x")]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 101 x 401 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _solution(np, t, x)
        found = Reference.from_function(self.domain, solution, (101, 401))
        finer = solution(*found.points().T.astype(np.longdouble))
        gap = found.values.ravel() - finer
        difference = np.linalg.norm(gap) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _solution(xp: Any, t: Any, x: Any) -> Any:
    """Evaluate the front, with `numpy` or `jax.numpy` as `xp`."""
    root = 6**0.5
    return (1 + xp.exp((x - 5 * t / root) / root)) ** -2
