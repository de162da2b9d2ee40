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
# Derivatives of a function of two coordinates on the grid of two axes.
Derivatives = Callable[[Axis, Axis, list[Index]], dict[Index, Matrix]]

_ORDERS = [(i, j) for i in range(5) for j in range(5 - i)]
_BLOCK = 4096
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
    """A stream function: a known function plus a polynomial.

    `rest` holds the coefficients of the polynomial.
    """

    known: Derivatives
    basis: ClampedBasis
    rest: Matrix

    def velocity(self, x: Axis, y: Axis) -> tuple[Matrix, Matrix]:
        """Return `u = psi_y` and `v = -psi_x` on the grid of `x` and `y`."""
        known = self.known(x, y, [(1, 0), (0, 1)])
        across = [self.basis.at(x, order) for order in (0, 1)]
        up = [self.basis.at(y, order) for order in (0, 1)]
        u = known[0, 1] + across[0] @ self.rest @ up[1].T
        v = known[1, 0] + across[1] @ self.rest @ up[0].T
        return u, -v


def solve_flow(known: Derivatives, reynolds: float, size: int) -> Stream:
    """Solve for a stream function that is known up to one clamped at the walls.

    `psi_y lap(psi)_x - psi_x lap(psi)_y = lap(lap(psi)) / reynolds` at `size` x `size`
    nodes. Continuation in the Reynolds number multiplies it by four in each stage.
    """
    basis = ClampedBasis.build(size)
    balance = Balance.build(known, basis, reynolds)
    rest = np.zeros((size, size))
    num_stages = max(0, int(np.ceil(np.log(reynolds / 100) / np.log(4))))
    for stage in range(num_stages, -1, -1):
        eased = balance._replace(reynolds=reynolds / 4.0**stage)
        rest = newton(eased, rest, _eliminate, _STEP_TOLERANCE)
    return Stream(known, basis, rest)


def automatic_derivatives(fn: Callable[..., Any]) -> Derivatives:
    """Differentiate a JAX function of one point."""
    return lambda x, y, orders: _derivatives(fn, x, y, orders)


def add_derivatives(*parts: Derivatives) -> Derivatives:
    """Add functions that are given by their derivatives."""

    def derivatives(x: Axis, y: Axis, orders: list[Index]) -> dict[Index, Matrix]:
        found = [part(x, y, orders) for part in parts]
        return {i: np.sum([one[i] for one in found], axis=0) for i in orders}

    return derivatives


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


def bilaplacian(get: Callable[[int, int], Any]) -> Any:
    """Combine partial derivatives; `get` takes the orders by `x` and `y`."""
    return get(4, 0) + 2 * get(2, 2) + get(0, 4)


class Terms(NamedTuple):
    """Derivatives of a stream function in the equation, at the nodes."""

    slope_x: Matrix
    slope_y: Matrix
    laplacian_x: Matrix
    laplacian_y: Matrix
    spread: Matrix

    @staticmethod
    def gather(get: Callable[[int, int], Any]) -> "Terms":
        """Combine partial derivatives; `get` takes the orders by `x` and `y`."""
        return Terms(
            get(1, 0),
            get(0, 1),
            get(3, 0) + get(1, 2),
            get(2, 1) + get(0, 3),
            bilaplacian(get),
        )


class Balance(NamedTuple):
    """The equation at the nodes for the coefficients of the polynomial."""

    basis: ClampedBasis
    given: Terms
    matrices: list[Matrix]
    reynolds: float

    @staticmethod
    def build(known: Derivatives, basis: ClampedBasis, reynolds: float) -> "Balance":
        found = known(basis.nodes, basis.nodes, _ORDERS)
        matrices = [basis.at(basis.nodes, order) for order in range(5)]
        given = Terms.gather(lambda i, j: found[i, j])
        return Balance(basis, given, matrices, reynolds)

    def polynomial(self, rest: Matrix) -> Terms:
        """Evaluate the polynomial part."""
        m = self.matrices
        return Terms.gather(lambda i, j: m[i] @ rest @ m[j].T)

    def total(self, rest: Matrix) -> Terms:
        """Evaluate the whole stream function."""
        parts = zip(self.given, self.polynomial(rest), strict=True)
        return Terms(*(given + part for given, part in parts))

    def residual(self, flow: Terms) -> Matrix:
        carried = flow.slope_y * flow.laplacian_x - flow.slope_x * flow.laplacian_y
        return carried - flow.spread / self.reynolds

    def derivative(self, flow: Terms, change: Terms) -> Matrix:
        """Return the change of the residual to first order."""
        found = flow.slope_y * change.laplacian_x - flow.slope_x * change.laplacian_y
        found = found + flow.laplacian_x * change.slope_y
        found = found - flow.laplacian_y * change.slope_x
        return found - change.spread / self.reynolds

    def jacobian(self, flow: Terms) -> Matrix:
        """Return the derivative as a matrix."""
        m = self.matrices
        change = Terms.gather(lambda i, j: np.kron(m[i], m[j]))
        return self.derivative(Terms(*(f.reshape(-1, 1) for f in flow)), change)


def newton(
    balance: Balance,
    rest: Matrix,
    solve_fn: Callable[[Balance, Terms, Matrix], Matrix],
    tolerance: float,
) -> Matrix:
    """Find the coefficients of the polynomial part by Newton's method.

    `solve_fn` returns the step that removes a residual.
    """
    for _ in range(_MAX_STEPS):
        flow = balance.total(rest)
        step = solve_fn(balance, flow, balance.residual(flow))
        rest = rest - step
        if np.max(np.abs(step)) < tolerance * (1 + np.max(np.abs(rest))):
            return rest
    raise RuntimeError(
        f"Newton's method did not converge at `reynolds={balance.reynolds:g}`. Use a "
        "smaller Reynolds number."
    )


def _eliminate(balance: Balance, flow: Terms, residual: Matrix) -> Matrix:
    step = np.linalg.solve(balance.jacobian(flow), np.ravel(residual))
    return step.reshape(residual.shape)
