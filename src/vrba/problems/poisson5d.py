"""Poisson in five dimensions, where a grid is out of reach."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz
from .reference import Reference


class Poisson5D(Problem):
    """The sum of `u` twice differentiated by each of `x1` to `x5` is `f`, and `u = 0`
    on the boundary of the unit cube.

    The source is chosen so that `u` is the product of all `sin(pi x)`, one bump in the
    middle. The boundary values hold exactly, by the form of the solution.
    """

    domain = Box(x1=(0, 1), x2=(0, 1), x3=(0, 1), x4=(0, 1), x5=(0, 1))

    def equations(self, u, x1, x2, x3, x4, x5):
        """The balance of diffusion and source."""
        laplacian = sum(u.d(name, name) for name in self.domain.coordinates)
        source = -5 * jnp.pi**2 * _bump(jnp, x1, x2, x3, x4, x5)
        return {"diffusion": laplacian - source}

    def conditions(self):
        """An ansatz that meets them all."""

        def solution(x1, x2, x3, x4, x5, N):
            return math.prod(4 * x * (1 - x) for x in (x1, x2, x3, x4, x5)) * N

        return [Ansatz(solution)]

    def reference(self) -> Reference:
        """The exact solution on 11 points in each direction."""
        solution = lambda *point: _bump(np, *point)
        return exact_reference(self.domain, solution, 11, 11, 11, 11, 11)


def _bump(xp: Any, *point: Any) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    return math.prod(xp.sin(np.pi * x) for x in point)
