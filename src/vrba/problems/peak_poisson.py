"""Poisson with a peak: nearly all of the domain is flat."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._exact import exact_reference
from .conditions import Ansatz
from .reference import Reference

_CENTRE = 0.5


class PeakPoisson(Problem):
    """`u_xx + u_yy = f` on `[-1, 1]^2`, with `u` given on the boundary.

    The source is chosen so that `u = exp(-sharpness r^2)`, `r` being the distance to
    (0.5, 0.5): a peak of height one and width `1 / sqrt(sharpness)`, in which the
    source is `-4 sharpness`. Evenly spread points hardly meet it. The boundary values
    hold exactly, by the form of the solution.

    Good values: `sharpness = 1000`, the usual test of adaptive sampling; one point in
    1,300 lies within the width. With 10 there is no need to adapt.
    """

    sharpness: float = 1000.0
    domain = Box(x=(-1, 1), y=(-1, 1))

    def __check_init__(self):
        """A peak, not a pit without a bottom."""
        check_positive(sharpness=self.sharpness)

    def equations(self, u, x, y):
        """The balance of diffusion and source."""
        squares = (x - _CENTRE) ** 2 + (y - _CENTRE) ** 2
        rate = 4 * self.sharpness * (self.sharpness * squares - 1)
        return {"diffusion": u.xx + u.yy - rate * _peak(jnp, x, y, self.sharpness)}

    def conditions(self):
        """An ansatz that meets them all."""
        values = lambda x, y: _peak(jnp, x, y, self.sharpness)

        def solution(x, y, N):
            return _between_sides(values, x, y) + (1 - x**2) * (1 - y**2) * N

        return [Ansatz(solution)]

    def reference(self) -> Reference:
        """The exact solution on 401 x 401 points."""
        solution = lambda x, y: _peak(np, x, y, self.sharpness)
        return exact_reference(self.domain, solution, 401, 401)


def _peak(xp: Any, x: Any, y: Any, sharpness: float) -> Any:
    """The solution, with `numpy` or `jax.numpy` as `xp`."""
    return xp.exp(-sharpness * ((x - _CENTRE) ** 2 + (y - _CENTRE) ** 2))


def _between_sides(values: Callable[..., Any], x: Any, y: Any) -> Any:
    """A function that has the given values on the sides of `[-1, 1]^2`, interpolated
    between opposite sides (Coons 1967). Of the values only those on the sides count."""
    right, top = (1 + x) / 2, (1 + y) / 2
    ends = (-jnp.ones_like(x), 1 - right), (jnp.ones_like(x), right)
    sides = (-jnp.ones_like(y), 1 - top), (jnp.ones_like(y), top)
    total = sum(share * values(end, y) for end, share in ends)
    total += sum(share * values(x, side) for side, share in sides)
    for end, share in ends:
        total -= sum(share * other * values(end, side) for side, other in sides)
    return total
