"""Poisson: a smooth bump, or a chequerboard of them."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_count
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz
from .reference import Reference


class Poisson(Problem):
    """`u_xx + u_yy = f`, `u = 0` on the boundary of the unit square.

    The source is chosen so that `u = sin(n pi x) sin(n pi y)`, `n` being the
    `frequency`. The boundary values hold exactly, by the form of the solution.

    Good values: `frequency = 2`. There are `frequency^2` bumps, and the source
    grows like that, too.
    """

    frequency: int = 2
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        """At least one bump."""
        check_count(frequency=self.frequency)

    def equations(self, u, x, y):
        """The balance of diffusion and source."""
        rate = -2 * (jnp.pi * self.frequency) ** 2
        return {"diffusion": u.xx + u.yy - rate * _bumps(jnp, x, y, self.frequency)}

    def conditions(self):
        """An ansatz that meets them all."""
        return [Ansatz(lambda x, y, N: 16 * x * (1 - x) * y * (1 - y) * N)]

    def reference(self) -> Reference:
        """The exact solution on 201 x 201 points."""
        solution = lambda x, y: _bumps(np, x, y, self.frequency)
        return exact_reference(self.domain, solution, 201, 201)


def _bumps(xp: Any, x: Any, y: Any, frequency: int) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    angle = np.pi * frequency
    return xp.sin(angle * x) * xp.sin(angle * y)
