"""Steady plane flow in the unit square by its stream function, on the host."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev
from scipy.special import roots_jacobi

from ..core import precision
from ..fields import Index, downward_closure, propagate

Matrix = Float[np.ndarray, "_ _"]
Axis = Float[np.ndarray, " _"]

_BLOCK = 1024
_MOST_STEPS = 30
_LAST_STEP = 1e-6  # relative; Newton's next ones meet the rounding


class Clamped(NamedTuple):
    """Polynomials on [0, 1] that vanish at both ends with their slope (Shen 1995), and
    as many nodes."""

    coefficients: Matrix
    nodes: Axis

    @staticmethod
    def build(size: int) -> "Clamped":
        """The first `size` of them, scaled so that the fourth derivatives are alike.

        The nodes are those of Gauss for the weight `x^2 (1 - x)^2`: what is left over
        at them is then orthogonal to the polynomials.
        """
        k = np.arange(size)
        rows = np.zeros((size, size + 4))
        rows[k, k] = 1
        rows[k, k + 2] = -2 * (k + 2) / (k + 3)
        rows[k, k + 4] = (k + 1) / (k + 3)
        nodes = (1 + roots_jacobi(size, 2, 2)[0]) / 2
        return Clamped(rows / (k[:, None] + 1.0) ** 4, nodes)

    def at(self, points: Axis, order: int) -> Matrix:
        """A derivative of each polynomial (columns) at each point (rows)."""
        found = chebyshev.chebder(self.coefficients, order, scl=2.0, axis=1)
        return np.asarray(chebyshev.chebval(2 * points - 1, found.T)).T


class Stream(NamedTuple):
    """A stream function: a known part, a JAX function of one point, and the rest by its
    coefficients."""

    known: Callable[..., Any]
    basis: Clamped
    rest: Matrix

    def velocity(self, x: Axis, y: Axis) -> tuple[Matrix, Matrix]:
        """`u = psi_y` and `v = -psi_x` on the grid that `x` and `y` span."""
        known = _derivatives(self.known, x, y, [(1, 0), (0, 1)])
        across = [self.basis.at(x, order) for order in (0, 1)]
        up = [self.basis.at(y, order) for order in (0, 1)]
        u = known[0, 1] + across[0] @ self.rest @ up[1].T
        v = known[1, 0] + across[1] @ self.rest @ up[0].T
        return u, -v


def solve_flow(known: Callable[..., Any], reynolds: float, size: int) -> Stream:
    """The steady flow whose stream function is `known(x, y)` plus one that vanishes on
    the walls with its slope.

    `psi_y lap(psi)_x - psi_x lap(psi)_y = lap(lap(psi)) / reynolds` at `size` x `size`
    nodes. Large Reynolds numbers are reached from smaller ones, each four times the one
    before.
    """
    basis = Clamped.build(size)
    orders = [(i, j) for i in range(5) for j in range(5 - i)]
    given = _derivatives(known, basis.nodes, basis.nodes, orders)
    matrices = [basis.at(basis.nodes, order) for order in range(5)]
    rest = np.zeros((size, size))
    num_stages = max(0, int(np.ceil(np.log(reynolds / 100) / np.log(4))))
    for stage in range(num_stages, -1, -1):
        rest = _newton(given, matrices, rest, reynolds / 4.0**stage)
    return Stream(known, basis, rest)


def _derivatives(
    fn: Callable[..., Any], x: Axis, y: Axis, orders: list[Index]
) -> dict[Index, Matrix]:
    """Derivatives of a function of one point on a grid, in blocks of points: with one
    shape, every operation is compiled once."""
    wanted = downward_closure(orders)
    grid = np.meshgrid(x, y, indexing="ij")
    rows = np.stack([np.ravel(g) for g in grid])
    num_points = rows.shape[1]
    rows = np.pad(rows, ((0, 0), (0, -num_points % _BLOCK)), mode="edge")
    blocks = []
    with precision("float64"):
        one = jnp.ones(_BLOCK)
        for block in np.split(rows, rows.shape[1] // _BLOCK, axis=1):
            places = jnp.asarray(block)
            jets = [{(0, 0): places[0], (1, 0): one}, {(0, 0): places[1], (0, 1): one}]
            found = propagate(fn, jets, wanted)
            blocks.append({i: np.asarray(found.get(i, 0 * one)) for i in wanted})
    joined = {i: np.concatenate([b[i] for b in blocks])[:num_points] for i in wanted}
    return {i: values.reshape(grid[0].shape) for i, values in joined.items()}


def _newton(
    given: dict[Index, Matrix], matrices: list[Matrix], rest: Matrix, reynolds: float
) -> Matrix:
    """Newton's method for the rest of the stream function."""
    kron = lambda i, j: np.kron(matrices[i], matrices[j])
    viscous = (kron(4, 0) + 2 * kron(2, 2) + kron(0, 4)) / reynolds
    lap_x, lap_y = kron(3, 0) + kron(1, 2), kron(2, 1) + kron(0, 3)
    by_x, by_y = kron(1, 0), kron(0, 1)
    for _ in range(_MOST_STEPS):
        get = lambda i, j, rest=rest: np.ravel(
            given[i, j] + matrices[i] @ rest @ matrices[j].T
        )
        slope_x, slope_y = get(1, 0), get(0, 1)
        across, up = get(3, 0) + get(1, 2), get(2, 1) + get(0, 3)
        spread = (get(4, 0) + 2 * get(2, 2) + get(0, 4)) / reynolds
        residual = slope_y * across - slope_x * up - spread
        jacobian = slope_y[:, None] * lap_x - slope_x[:, None] * lap_y - viscous
        jacobian += across[:, None] * by_y - up[:, None] * by_x
        step = np.linalg.solve(jacobian, residual).reshape(rest.shape)
        rest = rest - step
        if np.max(np.abs(step)) < _LAST_STEP * (1 + np.max(np.abs(rest))):
            return rest
    raise RuntimeError(
        f"Newton's method did not converge at a Reynolds number of {reynolds:g}."
    )
