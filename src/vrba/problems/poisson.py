"""Poisson's equation: smooth, in five dimensions, and with a narrow peak."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_count, check_positive
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz
from .reference import Reference, exact_reference

_CENTRE = 0.5  # of the peak, in both coordinates


class Poisson(Problem):
    """`u_xx + u_yy = f`, `u = 0` on the boundary of the unit square.

    The source gives the solution `u = sin(n pi x) sin(n pi y)` with `n = frequency`.
    The boundary condition is a hard constraint.

    Good values: `frequency = 2`. The number of extrema and the source both grow like
    `frequency^2`.
    """

    frequency: int = 2
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_count(frequency=self.frequency)

    @override
    def equations(self, u, x, y):
        rate = -2 * (jnp.pi * self.frequency) ** 2
        source = rate * _solution_2d(jnp, x, y, self.frequency)
        return {"diffusion": u.xx + u.yy - source}

    @override
    def conditions(self):
        return [Ansatz(lambda x, y, N: 16 * x * (1 - x) * y * (1 - y) * N)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda x, y: _solution_2d(np, x, y, self.frequency)
        return exact_reference(self.domain, solution, 201, 201)


class Poisson5D(Problem):
    """The Laplacian of `u` in `x1` to `x5` is `f`, `u = 0` on the unit cube's boundary.

    The source gives the solution `u = sin(pi x1) ... sin(pi x5)`. The boundary
    condition is a hard constraint.
    """

    domain = Box(x1=(0, 1), x2=(0, 1), x3=(0, 1), x4=(0, 1), x5=(0, 1))

    @override
    def equations(self, u, x1, x2, x3, x4, x5):
        laplacian = sum(u.d(name, name) for name in self.domain.coordinates)
        source = -5 * jnp.pi**2 * _solution_5d(jnp, x1, x2, x3, x4, x5)
        return {"diffusion": laplacian - source}

    @override
    def conditions(self):
        def solution(x1, x2, x3, x4, x5, N):
            return math.prod(4 * x * (1 - x) for x in (x1, x2, x3, x4, x5)) * N

        return [Ansatz(solution)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 11 points in each direction.

        The error is the difference from extended precision.
        """
        solution = lambda *point: _solution_5d(np, *point)
        return exact_reference(self.domain, solution, 11, 11, 11, 11, 11)


class PeakPoisson(Problem):
    """`u_xx + u_yy = f` on `[-1, 1]^2`, with `u` given on the boundary.

    The source gives the solution `u = exp(-sharpness r^2)`, with the distance `r` from
    (0.5, 0.5): a peak of height one and width `1 / sqrt(sharpness)`, where the source
    is `-4 sharpness`. Uniform points rarely fall into it. The boundary condition is a
    hard constraint.

    Good values: `sharpness = 1000`, the usual test of adaptive sampling; one point in
    1,300 lies within the width. With 10, adaptivity is not needed.
    """

    sharpness: float = 1000.0
    domain = Box(x=(-1, 1), y=(-1, 1))

    def __check_init__(self):
        check_positive(sharpness=self.sharpness)

    @override
    def equations(self, u, x, y):
        squares = (x - _CENTRE) ** 2 + (y - _CENTRE) ** 2
        rate = 4 * self.sharpness * (self.sharpness * squares - 1)
        return {"diffusion": u.xx + u.yy - rate * _peak(jnp, x, y, self.sharpness)}

    @override
    def conditions(self):
        boundary_values = lambda x, y: _peak(jnp, x, y, self.sharpness)

        def solution(x, y, N):
            sides = _interpolate_sides(boundary_values, x, y)
            return sides + (1 - x**2) * (1 - y**2) * N

        return [Ansatz(solution)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 401 x 401 points.

        The error is the difference from extended precision.
        """
        solution = lambda x, y: _peak(np, x, y, self.sharpness)
        return exact_reference(self.domain, solution, 401, 401)


def _solution_2d(xp: Any, x: Any, y: Any, frequency: int) -> Any:
    """Evaluate the solution of `Poisson`, with `numpy` or `jax.numpy` as `xp`."""
    angle = np.pi * frequency
    return xp.sin(angle * x) * xp.sin(angle * y)


def _solution_5d(xp: Any, *point: Any) -> Any:
    """Evaluate the solution of `Poisson5D`."""
    return math.prod(xp.sin(np.pi * x) for x in point)


def _peak(xp: Any, x: Any, y: Any, sharpness: float) -> Any:
    """Evaluate the solution of `PeakPoisson`."""
    return xp.exp(-sharpness * ((x - _CENTRE) ** 2 + (y - _CENTRE) ** 2))


def _interpolate_sides(values: Callable[..., Any], x: Any, y: Any) -> Any:
    """Extend the values on the sides of `[-1, 1]^2` to the inside (Coons 1967).

    Only the values on the sides are used.
    """
    right, top = (1 + x) / 2, (1 + y) / 2
    ends = (-jnp.ones_like(x), 1 - right), (jnp.ones_like(x), right)
    sides = (-jnp.ones_like(y), 1 - top), (jnp.ones_like(y), top)
    total = sum(share * values(end, y) for end, share in ends)
    total += sum(share * values(x, side) for side, share in sides)
    for end, share in ends:
        total -= sum(share * other * values(end, side) for side, other in sides)
    return total
