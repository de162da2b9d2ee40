"""Iterative solution for plane flow with many coefficients, on the host."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import aslinearoperator, gmres
from scipy.special import eval_jacobi, roots_jacobi

from ._stream import (
    Axis,
    Balance,
    ClampedBasis,
    Derivatives,
    Matrix,
    Stream,
    Terms,
    bilaplacian,
    newton,
)

_LINEAR_TOLERANCE = 1e-4
_STEP_TOLERANCE = 1e-9  # relative; the error is smaller by the linear tolerance


def refine(coarse: Stream, known: Derivatives, reynolds: float, size: int) -> Stream:
    """Continue from a solution to more nodes, by Newton's method with GMRES.

    `size` is even. `known` replaces the known part of `coarse`; the polynomial part
    makes up for the difference at the start.
    """
    basis = ClampedBasis.build(size)
    start = Balance.build(coarse.known, coarse.basis, reynolds)
    balance = Balance.build(known, basis, reynolds)
    inverse = _TwoLevels.build(balance, start, coarse.rest)
    rest = coarse.rest - _fit_difference(coarse, known)
    rest = np.pad(rest, (0, size - len(rest)))
    rest = newton(balance, rest, inverse.solve, _STEP_TOLERANCE)
    return Stream(known, basis, rest)


def _fit_difference(coarse: Stream, known: Derivatives) -> Matrix:
    """Interpolate the difference of the known parts by the coarse polynomials."""
    nodes = coarse.basis.nodes
    values = [fn(nodes, nodes, [(0, 0)])[0, 0] for fn in (known, coarse.known)]
    matrix = coarse.basis.at(nodes, 0)
    by_x = np.linalg.solve(matrix, values[0] - values[1])
    return np.linalg.solve(matrix, by_x.T).T


class _Product(NamedTuple):
    """A matrix given by its products, as SciPy reads it."""

    shape: tuple[int, int]
    matvec: Callable[[np.ndarray], np.ndarray]
    dtype: Any = float


class _TwoLevels(NamedTuple):
    """An approximate inverse of the Jacobian, for its iterative solution.

    The first coefficients are solved for with the Jacobian of a coarse solution, all
    others as slow (Stokes) flow. Slow flow keeps the parity in both directions, so it
    separates into four systems.
    """

    coarse: Any
    restriction: Matrix  # from residuals at the nodes to residuals at coarse nodes
    slow: dict[tuple[int, int], Any]

    @staticmethod
    def build(fine: Balance, coarse: Balance, rest: Matrix) -> "_TwoLevels":
        half = len(fine.basis.nodes) // 2
        slow = {}
        for p, q in np.ndindex(2, 2):
            m, n = ([a[:half, k::2] for a in fine.matrices] for k in (p, q))
            spread = bilaplacian(lambda i, j, m=m, n=n: np.kron(m[i], n[j]))
            slow[p, q] = lu_factor(-spread / fine.reynolds)
        jacobian = lu_factor(coarse.jacobian(coarse.total(rest)))
        projection = _projection(fine.basis.nodes, coarse.basis.nodes)
        return _TwoLevels(jacobian, projection, slow)

    def solve(self, balance: Balance, flow: Terms, residual: Matrix) -> Matrix:
        """Return the step that removes the residual."""
        shape = residual.shape
        multiply = lambda step: balance.derivative(flow, balance.polynomial(step))

        def invert(values):
            parts = self.restriction @ values @ self.restriction.T
            step = lu_solve(self.coarse, np.ravel(parts)).reshape(parts.shape)
            step = np.pad(step, (0, shape[0] - len(step)))
            return step + self._solve_slow(values - multiply(step))

        product = lambda v: np.ravel(multiply(invert(v.reshape(shape))))
        operator = aslinearoperator(_Product((residual.size, residual.size), product))
        options = dict(rtol=_LINEAR_TOLERANCE, restart=60, maxiter=5)
        found, failure = gmres(operator, np.ravel(residual), **options)
        if failure:
            raise RuntimeError(
                f"GMRES did not converge at `reynolds={balance.reynolds:g}`. Use a "
                "smaller Reynolds number."
            )
        return invert(found.reshape(shape))

    def _solve_slow(self, values: Matrix) -> Matrix:
        found = np.zeros_like(values)
        half = len(values) // 2
        for p, rows in enumerate(_parities(values)):
            for q, columns in enumerate(_parities(rows.T)):
                part = lu_solve(self.slow[p, q], np.ravel(columns.T))
                found[p::2, q::2] = part.reshape(half, half)
        return found


def _parities(values: Matrix) -> tuple[Matrix, Matrix]:
    """Return the even and the odd part of the first half of the rows."""
    first, mirrored = values[: len(values) // 2], values[::-1][: len(values) // 2]
    return (first + mirrored) / 2, (first - mirrored) / 2


def _projection(nodes: Axis, coarse: Axis) -> Matrix:
    """Return the matrix that projects values to fewer polynomials and nodes."""
    weights = roots_jacobi(len(nodes), 2, 2)[1]
    degrees = np.arange(len(coarse))
    at = lambda places: eval_jacobi(degrees, 2, 2, 2 * places[:, None] - 1)
    weighted = weights[:, None] * at(nodes)
    return at(coarse) @ (weighted / np.sum(weighted * at(nodes), axis=0)).T
