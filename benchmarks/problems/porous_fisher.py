"""Growth with porous diffusion: a front with a kink."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference, exact_reference

_ROOT = 2**0.5


class PorousFisher(Problem):
    """`u_t = (u u_x)_x + u (1 - u)` for `t` from 0 to 2 and `x` from -5 to 5.

    The solution is the sharp front of Aronson (1980), of speed `1 / sqrt(2)`:
    `u = 1 - e^((x - t / sqrt(2)) / sqrt(2))` behind the front and zero ahead of it. It
    gives the initial values and the values at both ends. The diffusion vanishes with
    `u`, so the slope jumps at the front. Both sides of the equation jump there, too.
    """

    domain = Box(t=(0, 2), x=(-5, 5))

    @override
    def equations(self, u, t, x):
        return {"growth": u.t - u * u.xx - u.x**2 - u * (1 - u)}

    @override
    def conditions(self):
        exact = lambda t, x: _front(jnp, t, x)
        return [Initial(lambda x: exact(0.0, x)), Dirichlet(exact, on="x")]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 101 x 501 points.

        The error is the difference from extended precision.
        """
        return exact_reference(self.domain, lambda t, x: _front(np, t, x), 101, 501)


def _front(xp: Any, t: Any, x: Any) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    return -xp.expm1(xp.minimum((x - t / _ROOT) / _ROOT, 0))
