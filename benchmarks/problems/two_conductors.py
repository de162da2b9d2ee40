"""A disk that conducts 100 times as well as the square around it."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Dirichlet, Interface, Problem, Reference

_RADIUS, _CENTRE = 0.5, (0.1, -0.05)


class TwoConductors(Problem):
    """`k (u_xx + u_yy) = 0` on the square from -1 to 1, `k = contrast` in a disk and 1
    outside; `u` and `k du/dn` are continuous.

    The disk has the centre (0.1, -0.05) and the radius 1/2. The solution is that of a
    cylinder in a uniform field. With `X` and `r` measured from the centre it is
    `2 / (contrast + 1) X` in the disk, and `X - (contrast - 1) / (contrast + 1) X / 4
    r^2` outside. It gives the boundary values. The gradient jumps at the circle.

    Good values: `contrast = 100`, also less than one.
    """

    contrast: float = 100.0
    domain = Box(x=(-1, 1), y=(-1, 1))

    def __check_init__(self):
        check_positive(contrast=self.contrast)

    @override
    def equations(self, u, x, y):
        k = jnp.where(_level(x, y) < 0, self.contrast, 1.0)
        return {"current": k * (u.xx + u.yy)}

    @override
    def conditions(self):
        values = lambda x, y: _outside(x, y, self.contrast)
        walls = [Dirichlet(values, on=name) for name in self.domain.coordinates]
        return [*walls, Interface(_level, (self.contrast, 1.0))]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda x, y: _solution(x, y, self.contrast)
        found = Reference.from_function(self.domain, solution, (201, 201))
        finer = solution(*found.points().T.astype(np.longdouble))
        gap = found.values.ravel() - finer
        difference = np.linalg.norm(gap) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _level(x: Any, y: Any) -> Any:
    """Zero on the circle, negative in the disk."""
    return (x - _CENTRE[0]) ** 2 + (y - _CENTRE[1]) ** 2 - _RADIUS**2


def _outside(x: Any, y: Any, contrast: float) -> Any:
    along, across = x - _CENTRE[0], y - _CENTRE[1]
    share = (contrast - 1) / (contrast + 1) * _RADIUS**2
    return along - share * along / (along**2 + across**2)


def _solution(x: Any, y: Any, contrast: float) -> Any:
    inside = 2 / (contrast + 1) * (x - _CENTRE[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(_level(x, y) < 0, inside, _outside(x, y, contrast))
