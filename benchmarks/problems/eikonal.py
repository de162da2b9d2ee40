"""The eikonal equation with viscosity: a smoothed distance from the boundary."""

import numpy as np
from typing_extensions import override

from vrba.core import check_between
from vrba.domains import Box
from vrba.problems import Dirichlet, Problem, Reference

_AXIS = np.linspace(0, 1, 201)
_SMALLEST = 0.01  # viscosity that the grid of the reference resolves


class Eikonal(Problem):
    """`u_x^2 + u_y^2 - viscosity (u_xx + u_yy) = 1`, `u = 0` on the unit square's
    boundary.

    The solution is `u = -viscosity log w` with `viscosity^2 (w_xx + w_yy) = w` and
    `w = 1` on the boundary. It is nearly the distance from the boundary, with ridges of
    width `viscosity` on the diagonals. The equation without viscosity has many weak
    solutions. In the corners, the second derivatives grow like the logarithm of the
    distance.

    Good values: `viscosity = 0.05`. Values up to 0.01 raise an error.
    """

    viscosity: float = 0.05
    domain = Box(x=(0, 1), y=(0, 1))

    def __check_init__(self):
        check_between(viscosity=(self.viscosity, _SMALLEST, np.inf))

    @override
    def equations(self, u, x, y):
        diffusion = self.viscosity * (u.xx + u.yy)
        return {"eikonal": u.x**2 + u.y**2 - diffusion - 1}

    @override
    def conditions(self):
        return [Dirichlet(0.0, on="x"), Dirichlet(0.0, on="y")]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points, by 800 terms of a series.

        The error is the difference from 1,200 terms in extended precision.
        """
        values = _solution(self.viscosity, 800, float)
        finer = _solution(self.viscosity, 1200, np.longdouble)
        difference = np.linalg.norm(values - finer) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return Reference({"x": _AXIS, "y": _AXIS}, values, error)


def _solution(viscosity: float, num_terms: int, kind: type) -> np.ndarray:
    """Evaluate the solution on the grid in the precision `kind`.

    The function `w` is a function of `y` alone, which equals one for `y = 0` and 1,
    plus a sine series in `y` for the remainder on the other two sides. Its terms decay
    exponentially inside the square.
    """
    inside = _AXIS[1:-1].astype(kind)
    pi, steepness = np.arccos(kind(-1)), 1 / kind(viscosity)
    waves = pi * np.arange(1, 2 * num_terms, 2).astype(kind)[:, None]
    rates = np.sqrt(steepness**2 + waves**2)
    sines = 4 / waves * (steepness / rates) ** 2 * np.sin(waves * inside)
    w = _from_both_ends(inside, steepness) + _from_both_ends(inside, rates).T @ sines
    return np.pad(-kind(viscosity) * np.log(w), 1)


def _from_both_ends(x: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return `cosh(rate (x - 1/2)) / cosh(rate / 2)` without overflow."""
    return (np.exp(-rate * x) + np.exp(-rate * (1 - x))) / (1 + np.exp(-rate))
