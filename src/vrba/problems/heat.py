"""Heat: a fine ripple fades long before the hump that carries it."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz
from .reference import Reference


class Heat(Problem):
    """`u_t = diffusivity u_xx`, `u(0, x) = sin(pi x) + sin(4 pi x) / 2`, `u = 0` at
    `x = 0` and 1.

    The ripple decays 16 times as fast as the hump. The initial and boundary values hold
    exactly, by the form of the solution.

    Good values: `diffusivity = 0.1`, where the ripple is gone at `t = 0.3` and a third
    of the hump is left at `t = 1`.
    """

    diffusivity: float = 0.1
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        """Heat spreads."""
        check_positive(diffusivity=self.diffusivity)

    def equations(self, u, t, x):
        """The balance of heat."""
        return {"heat": u.t - self.diffusivity * u.xx}

    def conditions(self):
        """An ansatz that meets them all."""

        def solution(t, x, N):
            initial = _modes(jnp, jnp.zeros_like(t), x, self.diffusivity)
            return initial + 4 * t * x * (1 - x) * N

        return [Ansatz(solution)]

    def reference(self) -> Reference:
        """The exact solution on 201 x 201 points."""
        solution = lambda t, x: _modes(np, t, x, self.diffusivity)
        return exact_reference(self.domain, solution, 201, 201)


def _modes(xp: Any, t: Any, x: Any, diffusivity: float) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    rate = diffusivity * np.pi**2
    hump = xp.exp(-rate * t) * xp.sin(np.pi * x)
    return hump + xp.exp(-16 * rate * t) * xp.sin(4 * np.pi * x) / 2
