"""Waves on a string over five periods."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference, exact_reference


class LongWave(Problem):
    """`u_tt = u_xx` for `t` from 0 to 10 and `x` from 0 to 1, `u = 0` at both ends,
    `u(0, x) = sin(pi x) + sin(3 pi x) / 3`, `u_t(0, x) = 0`.

    Five periods of the slow wave, fifteen of the fast one. There is no damping, so
    early errors persist.
    """

    domain = Box(t=(0, 10), x=(0, 1))

    @override
    def equations(self, u, t, x):
        return {"motion": u.tt - u.xx}

    @override
    def conditions(self):
        return [
            Initial(lambda x: _waves(jnp, 0.0, x)),
            Initial(0.0, order=1),
            Dirichlet(0.0, on="x"),
        ]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 401 x 101 points.

        The error is the difference from extended precision.
        """
        return exact_reference(self.domain, lambda t, x: _waves(np, t, x), 401, 101)


def _waves(xp: Any, t: Any, x: Any) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    slow = xp.sin(np.pi * x) * xp.cos(np.pi * t)
    return slow + xp.sin(3 * np.pi * x) * xp.cos(3 * np.pi * t) / 3
