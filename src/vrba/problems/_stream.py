"""A solver for steady plane flow in the unit square, on the host."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev
from scipy.special import roots_jacobi

from ..core import use_precision
from ..fields import Index, downward_closure, propagate

Matrix = Float[np.ndarray, "_ _"]
Axis = Float[np.ndarray, " _"]

_BLOCK = 1024
_MAX_STEPS = 30
_STEP_TOLERANCE = 1e-6  # relative; the next Newton step is below rounding


class ClampedBasis(NamedTuple):
    """Polynomials on [0, 1] with zero value and slope at both ends, and as many nodes.

    The basis of Shen (1995).
    """

    coefficients: Matrix
    nodes: Axis

    @staticmethod
    def build(size: int) -> "ClampedBasis":
        """Return `size` polynomials, scaled to similar fourth derivatives.

        The nodes are Gauss nodes for the weight `x^2 (1 - x)^2`, so collocation there
        makes the residual orthogonal to the polynomials.
        """
        k = np.arange(size)
        rows = np.zeros((size, size + 4))
        rows[k, k] = 1
        rows[k, k + 2] = -2 * (k + 2) / (k + 3)
        rows[k, k + 4] = (k + 1) / (k + 3)
        nodes = (1 + roots_jacobi(size, 2, 2)[0]) / 2
        return ClampedBasis(rows / (k[:, None] + 1.0) ** 4, nodes)

    def at(self, points: Axis, order: int) -> Matrix:
        """Evaluate a derivative of each polynomial (columns) at each point (rows)."""
        found = chebyshev.chebder(self.coefficients, order, scl=2.0, axis=1)
        return np.asarray(chebyshev.chebval(2 * points - 1, found.T)).T


class Stream(NamedTuple):
    """A stream function: a known JAX function of one point plus a polynomial.

    `rest` holds the coefficients of the polynomial.
    """

    known: Callable[..., Any]
    basis: ClampedBasis
    rest: Matrix

    def velocity(self, x: Axis, y: Axis) -> tuple[Matrix, Matrix]:
        """Return `u = psi_y` and `v = -psi_x` on the grid of `x` and `y`."""
        known = _derivatives(self.known, x, y, [(1, 0), (0, 1)])
        across = [self.basis.at(x, order) for order in (0, 1)]
        up = [self.basis.at(y, order) for order in (0, 1)]
        u = known[0, 1] + across[0] @ self.rest @ up[1].T
        v = known[1, 0] + across[1] @ self.rest @ up[0].T
        return u, -v


def solve_flow(known: Callable[..., Any], reynolds: float, size: int) -> Stream:
    """Solve for the stream function `known(x, y)` plus one clamped at the walls.

    `psi_y lap(psi)_x - psi_x lap(psi)_y = lap(lap(psi)) / reynolds` at `size` x `size`
    nodes. Continuation in the Reynolds number multiplies it by four in each stage.
    """
    basis = ClampedBasis.build(size)
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
    """Evaluate derivatives of a function of one point on a grid.

    Blocks of one shape compile every operation once.
    """
    wanted = downward_closure(orders)
    grid = np.meshgrid(x, y, indexing="ij")
    rows = np.stack([np.ravel(g) for g in grid])
    num_points = rows.shape[1]
    rows = np.pad(rows, ((0, 0), (0, -num_points % _BLOCK)), mode="edge")
    blocks = []
    with use_precision("float64"):
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
    """Find the coefficients of the polynomial part by Newton's method."""
    kron = lambda i, j: np.kron(matrices[i], matrices[j])
    viscous = (kron(4, 0) + 2 * kron(2, 2) + kron(0, 4)) / reynolds
    lap_x, lap_y = kron(3, 0) + kron(1, 2), kron(2, 1) + kron(0, 3)
    by_x, by_y = kron(1, 0), kron(0, 1)
    for _ in range(_MAX_STEPS):
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
        if np.max(np.abs(step)) < _STEP_TOLERANCE * (1 + np.max(np.abs(rest))):
            return rest
    raise RuntimeError(
        f"Newton's method did not converge at `reynolds={reynolds:g}`. Use a smaller "
        "Reynolds number."
    )
