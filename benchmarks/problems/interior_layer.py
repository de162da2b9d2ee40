"""A shock between two slopes: an interior layer."""

import numpy as np
from typing_extensions import override

from vrba.core import check_between
from vrba.domains import Box
from vrba.problems import Dirichlet, Problem, Reference

_LEFT, _RIGHT = -1.0, 1.5
_CENTRE = (1 - _LEFT - _RIGHT) / 2
_HEIGHT = _CENTRE + _RIGHT - 1  # of half of the jump
_AXIS = np.linspace(0, 1, 2001)
_MAX_STEPS = 30


class InteriorLayer(Problem):
    """`diffusion u_xx + u u_x = u`, `u(0) = -1`, `u(1) = 3/2`.

    Away from the layer the slope is one: `u` is nearly `x - 1` on the left, `x + 1/2`
    on the right. Both have the same size at `x = 1/4`, where a layer of width
    `8/3 diffusion` joins them. The position of the layer follows from both ends.

    Good values: `diffusion = 5e-3`. Values up to 2e-3 raise an error.
    """

    diffusion: float = 5e-3
    domain = Box(x=(0, 1))

    def __check_init__(self):
        check_between(diffusion=(self.diffusion, 2e-3, np.inf))

    @override
    def equations(self, u, x):
        return {"transport": self.diffusion * u.xx + u * u.x - u}

    @override
    def conditions(self):
        return [Dirichlet(_LEFT, on="x", at=0), Dirichlet(_RIGHT, on="x", at=1)]

    @override
    def reference(self) -> Reference:
        """Return a polynomial of degree 700 on 2,001 points.

        The error is the difference from the degree 500.
        """
        coarse, values = (solve_layer(self.diffusion, size) for size in (500, 700))
        difference = np.linalg.norm(coarse - values) / np.linalg.norm(values)
        return Reference({"x": _AXIS}, values, float(difference))


def solve_layer(diffusion: float, degree: int) -> np.ndarray:
    """Solve by collocation at Chebyshev points and Newton's method."""
    angles = np.pi * np.arange(degree + 1) / degree
    x = np.sin(angles / 2) ** 2
    first = _differentiation(angles)
    second, inside = first @ first, slice(1, -1)
    u = x - _CENTRE + _HEIGHT * np.tanh(_HEIGHT * (x - _CENTRE) / (2 * diffusion))
    u[[0, -1]] = _LEFT, _RIGHT
    for _ in range(_MAX_STEPS):
        slope = first @ u
        residual = diffusion * second @ u + u * slope - u
        matrix = diffusion * second + u[:, None] * first + np.diag(slope - 1)
        step = np.linalg.solve(matrix[inside, inside], residual[inside])
        u[inside] -= step
        if np.max(np.abs(step)) < 1e-10:
            weights = (-1.0) ** np.arange(degree + 1)
            weights[[0, -1]] /= 2
            return barycentric(x, u, weights, _AXIS)
    raise RuntimeError(f"Newton's method did not converge at {diffusion=:g}.")


def _differentiation(angles: np.ndarray) -> np.ndarray:
    """Return the matrix that differentiates on the points `sin(angle / 2)^2`."""
    total, half = np.add.outer(angles, angles) / 2, np.subtract.outer(angles, angles)
    gaps = np.sin(total) * np.sin(half / 2)
    np.fill_diagonal(gaps, 1.0)
    signs = (-1.0) ** np.arange(len(angles))
    signs[[0, -1]] *= 2
    matrix = np.outer(signs, 1 / signs) / gaps
    np.fill_diagonal(matrix, 0.0)
    return matrix - np.diag(np.sum(matrix, axis=1))


def barycentric(
    nodes: np.ndarray, values: np.ndarray, weights: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Evaluate the polynomial through values at nodes."""
    gaps = x[:, None] - nodes
    is_node = gaps == 0
    terms = weights / np.where(is_node, 1.0, gaps)
    found = terms @ values / np.sum(terms, axis=1)
    rows, columns = np.nonzero(is_node)
    found[rows] = values[columns]
    return found
