"""The porous medium equation: a front with an infinite gradient."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference

_START = 0.5


class Barenblatt(Problem):
    """`u_t = (u^3)_xx = 3 u^2 u_xx + 6 u u_x^2` for `t` from 0.5 to 1.5 and `x` from -5
    to 5, `u = 0` at both ends.

    The solution is that of Barenblatt (1952): `u = t^(-1/4) sqrt(1 - (x / front)^2)`
    for `x` between the fronts `+-sqrt(12) t^(1/4)`, and zero beyond them. It gives the
    initial values. The gradient is unbounded at the fronts, where the terms of the
    equation grow like one over the root of the distance. The solution is a weak one:
    the equation does not hold pointwise at the fronts.
    """

    domain = Box(t=(_START, 1.5), x=(-5, 5))

    @override
    def equations(self, u, t, x):
        return {"diffusion": u.t - 3 * u**2 * u.xx - 6 * u * u.x**2}

    @override
    def conditions(self):
        return [
            Initial(lambda x: _solution(jnp, _START, x)),
            Dirichlet(0.0, on="x"),
        ]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 101 x 1,001 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _solution(np, t, x)
        found = Reference.from_function(self.domain, solution, (101, 1001))
        finer = solution(*found.points().T.astype(np.longdouble))
        gap = found.values.ravel() - finer
        difference = np.linalg.norm(gap) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _solution(xp: Any, t: Any, x: Any) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    ratio = abs(x) / (12**0.5 * t**0.25)
    return xp.sqrt(xp.maximum((1 - ratio) * (1 + ratio), 0)) / t**0.25
