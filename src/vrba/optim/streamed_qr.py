"""Linear least squares by a QR factorisation whose rows arrive in blocks."""

import functools
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import get_lapack_funcs
from threadpoolctl import ThreadpoolController

from ..core import InputError, check_count

_PANEL = 64  # columns that LAPACK's QR processes at once

Columns = Float[np.ndarray, " columns"]


class StreamedQR(eqx.Module):
    """The triangle `R` of `[J, r]`, whose rows arrive block by block.

    It minimises `|J x + r|^2` without the normal equations, so it is as accurate as
    `J` allows. Memory: `R`, and one block of rows. Leading columns have the leading
    part of `R`: the fit with fewer columns costs no other factorisation.

    LAPACK's `tpqrt` on one core of the host: about `2 rows columns^2` operations.
    """

    triangle: Float[np.ndarray, "_ _"]

    @staticmethod
    def empty(num_columns: int, dtype: Any = np.float64) -> "StreamedQR":
        """Return the factorisation of no rows."""
        check_count(num_columns=num_columns)
        return StreamedQR(np.zeros((num_columns + 1,) * 2, dtype, order="F"))

    @property
    def num_columns(self) -> int:
        """The number of columns of `J`."""
        return self.triangle.shape[0] - 1

    def absorb(self, blocks: Iterable[tuple[Any, Any]]) -> "StreamedQR":
        """Add blocks of rows `(r, J)`."""
        triangle = self.triangle.copy(order="F")
        for rows, jacobian in blocks:
            size, expected = np.size(rows), self.num_columns
            if np.shape(jacobian) != (size, expected):
                raise InputError(
                    f"`blocks` has a Jacobian of shape {np.shape(jacobian)} for {size} "
                    f"residuals and {expected} columns: give ({size}, {expected})."
                )
            block = np.empty((size, expected + 1), triangle.dtype, order="F")
            block[:, :-1], block[:, -1] = jacobian, rows
            triangle = _absorb(triangle, block, num_triangular=0)
        return StreamedQR(triangle)

    def merge(self, other: "StreamedQR") -> "StreamedQR":
        """Return the factorisation of the rows of both."""
        below, size = other.triangle.copy(order="F"), self.num_columns + 1
        triangle = self.triangle.copy(order="F")
        return StreamedQR(_absorb(triangle, below, num_triangular=size))

    def scaled(self, factor: float) -> "StreamedQR":
        """Return the factorisation of all rows times a factor."""
        return StreamedQR(factor * self.triangle)

    @property
    def square_sum(self) -> float:
        """The sum of squares of the residuals `r` before the step."""
        return float(np.sum(self.triangle[:, -1] ** 2))

    @property
    def column_norms(self) -> Columns:
        """The norm of each column of `J`; those of negligible columns are raised."""
        squares = np.einsum("ij,ij->j", self.triangle, self.triangle)[:-1]
        norms = np.sqrt(squares)
        least = np.finfo(norms.dtype).tiny
        return np.maximum(norms, max(1e-14 * norms.max(initial=0.0), least))

    def damped(
        self, num_columns: int | None = None, ridge: float | int = 0.0
    ) -> "Damped":
        """Return the solver of `min |J x + r|^2 + ridge^2 |D x|^2`, `D` column norms.

        With `num_columns` it uses only leading columns.
        """
        size = self.num_columns if num_columns is None else num_columns
        if not 0 < size <= self.num_columns:
            raise InputError(
                f"`num_columns` must be between 1 and {self.num_columns}, got {size}."
            )
        norms, triangle = self.column_norms[:size], self.triangle
        scaled = np.empty((size, size + 1), triangle.dtype, order="F")
        scaled[:, :size] = triangle[:size, :size] / norms
        scaled[:, size] = triangle[:size, -1]
        if ridge > 0:
            scaled = damp_triangle(scaled, ridge)
        upper = np.asfortranarray(scaled[:, :size])
        return Damped(upper, scaled[:, size], norms, self.num_columns)


class Damped(eqx.Module):
    """A triangle of scaled columns with damping."""

    upper: Any
    right: Columns
    norms: Columns
    num_columns: int

    def step(self) -> Columns:
        """Return the minimiser; columns that are not used have the entry zero."""
        found = np.zeros(self.num_columns, self.right.dtype)
        found[: self.norms.size] = -_solve(self.upper, self.right) / self.norms
        return found

    def pull(
        self, vectors: Float[np.ndarray, "columns vectors"]
    ) -> Float[np.ndarray, "columns vectors"]:
        """Return `R^-1` times each vector.

        For standard normal vectors `g`, the mean of `(j R^-1 g)^2` is the leverage of a
        row `j`.
        """
        found = _solve(self.upper, np.asfortranarray(vectors))
        return found / self.norms[:, None]

    def respond(
        self, gradients: Float[np.ndarray, "columns vectors"]
    ) -> Float[np.ndarray, "columns vectors"]:
        """Return the change of the minimiser for each change `J' r` of the gradient.

        Columns that are not used have the entry zero.
        """
        size = self.norms.size
        scaled = np.asfortranarray(gradients[:size] / self.norms[:, None])
        below = _solve(self.upper, scaled, transposed=True)
        found = np.zeros_like(gradients)
        found[:size] = -_solve(self.upper, below) / self.norms[:, None]
        return found


def damp_triangle(
    triangle: Float[np.ndarray, "columns _"], ridge: float | int
) -> Float[np.ndarray, "columns _"]:
    """Return the triangle of `[R; ridge I]`, and the right side in its last column.

    `R` has one column more than rows: the right side.
    """
    size = triangle.shape[0]
    square = np.zeros((size + 1, size + 1), triangle.dtype, order="F")
    square[:size] = triangle
    below = np.zeros((size, size + 1), triangle.dtype, order="F")
    np.einsum("ii->i", below[:, :size])[:] = ridge
    return _absorb(square, below, num_triangular=size)[:size]


def _absorb(triangle: Any, rows: Any, *, num_triangular: int) -> Any:
    """Return the triangle with rows added; both arguments are overwritten."""
    (absorb,) = get_lapack_funcs(("tpqrt",), (triangle,))
    panel = min(_PANEL, triangle.shape[0])
    with one_thread():
        return absorb(
            num_triangular, panel, triangle, rows, overwrite_a=True, overwrite_b=True
        )[0]


def _solve(upper: Any, right: Any, *, transposed: bool = False) -> Any:
    """Return `U^-1 right`, or `U'^-1 right`; NaN if the triangle is singular."""
    (substitute,) = get_lapack_funcs(("trtrs",), (upper,))
    with one_thread():
        found, has_failed = substitute(upper, right, trans=int(transposed))
    return np.full_like(right, np.nan) if has_failed else found


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one core.

    OpenBLAS synchronises the threads of a factorisation very often. On several cores
    it becomes many times slower as soon as another program needs one of them.
    """
    return _controller().limit(limits=1, user_api="blas")
