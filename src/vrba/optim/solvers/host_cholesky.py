"""Normal equations by the host's BLAS, which multiplies faster than XLA on a CPU."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Float
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs
from threadpoolctl import ThreadpoolController

from ...core import InputError, check_fits, flatten
from ..least_squares import AbstractLeastSquares
from ._base import (
    INSTEAD,
    AbstractSolver,
    AbstractSystem,
    Scalar,
    Vector,
    check_settings,
    find_qr_below,
    smallest_damping,
)

HostVector = Float[np.ndarray, " params"]

_PANEL = 64  # columns that LAPACK's QR takes at once


class HostSystem(AbstractSystem):
    """The upper half of `J'J` in the host's memory; or, if `is_root`, the triangle of
    `[J, r]`."""

    pulled: Any
    scale: Any
    matrix: Any
    is_root: bool


class HostTriangle(eqx.Module):
    """LAPACK's upper triangle, or none if the matrix was not positive definite, and
    `J'r`; if `is_root`, what the triangle must be solved for once instead."""

    upper: Any
    right: Any
    is_root: bool


class HostCholesky(AbstractSolver):
    """`Cholesky` with products by the BLAS of SciPy, for steps outside `jit`.

    Only half of each product is formed. Settings as those of `Cholesky`.
    """

    qr_below: float | None = None
    max_params: int = 20_000

    def __check_init__(self):
        """Settings in range."""
        check_settings(self.qr_below, self.max_params)

    @property
    def is_compiled(self) -> bool:
        """Steps are made one by one; what they evaluate is compiled."""
        return False

    @property
    def num_matrices(self) -> int:
        """`J'J` or `R`, its factor, and what QR works on."""
        return 4

    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> HostSystem:
        """Products of blocks, in turn: XLA and BLAS at once slow each other down."""
        if isinstance(relative_damping, Tracer):
            raise InputError(
                "`HostCholesky` cannot be compiled into a larger program: take "
                "`LevenbergMarquardt(solver=Cholesky())` there."
            )
        vector = flatten(params)[0]
        check_fits(vector, self.max_params, INSTEAD)
        dtype, size = vector.dtype, vector.size
        if relative_damping < find_qr_below(self.qr_below, dtype):
            return _triangle_of(objective, params, size, dtype)
        matrix = np.zeros((size, size), dtype, order="F")
        pulled = np.zeros(size, dtype)
        square, times = get_blas_funcs(("syrk", "gemv"), (matrix,))
        for rows, jacobian in _blocks(objective, params):
            across = np.asarray(jacobian).T
            matrix = square(1.0, across, beta=1.0, c=matrix, overwrite_c=True)
            pulled = times(1.0, across, np.asarray(rows), 1.0, pulled)
        return HostSystem(pulled, np.trace(matrix), matrix, False)

    def smallest(self, system: HostSystem) -> Scalar:
        """Down to where QR begins; after it next to none."""
        return smallest_damping(system.is_root, self.qr_below, system.pulled.dtype)

    def factor(self, system: HostSystem, damping: Scalar) -> HostTriangle:
        """The upper triangle of the damped system."""
        if system.is_root:
            return _damped(system, np.asarray(damping))
        matrix = system.matrix.copy(order="F")
        np.einsum("ii->i", matrix)[:] += np.asarray(damping)
        (factorise,) = get_lapack_funcs(("potrf",), (matrix,))
        with _one_thread():
            upper, failed = factorise(
                matrix, lower=False, clean=False, overwrite_a=True
            )
        return HostTriangle(None if failed else upper, system.pulled, False)

    def step(self, factor: HostTriangle) -> Vector:
        """Two triangular solves, or one after QR."""
        if factor.is_root:
            return jnp.asarray(-_substituted(factor.upper, factor.right, trans=0))
        return -self.solve(factor, factor.right)

    def solve(self, factor: HostTriangle, vector: Vector | HostVector) -> Vector:
        """Two triangular solves."""
        if factor.upper is None:
            return jnp.full(vector.shape, jnp.nan, vector.dtype)
        inner = _substituted(factor.upper, np.asarray(vector), trans=1)
        return jnp.asarray(_substituted(factor.upper, inner, trans=0))

    def loop(
        self, go_on: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any
    ) -> Any:
        """In Python."""
        while go_on(carry):
            carry = body(carry)
        return carry


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[Any]:
    """BLAS on one core. OpenBLAS synchronises a factorisation so often that on several
    it takes many times as long as soon as another program wants one of them."""
    return _controller().limit(limits=1, user_api="blas")


def _blocks(objective, params):
    """Residuals and Jacobian of every block."""
    for term in objective.terms:
        for block in range(term.num_blocks):
            yield _jacobian(term, params, jnp.asarray(block, jnp.int32))


@eqx.filter_jit
def _jacobian(term, params, block):
    return term.jacobian(params, block)


def _triangle_of(objective, params, size, dtype) -> HostSystem:
    """The triangle of `[J, r]`, updated block by block: as accurate as `J` itself."""
    root = np.zeros((size + 1, size + 1), dtype, order="F")
    (absorb,) = get_lapack_funcs(("tpqrt",), (root,))
    for rows, jacobian in _blocks(objective, params):
        block = np.empty((rows.size, size + 1), dtype, order="F")
        block[:, :size], block[:, size] = jacobian, rows
        with _one_thread():
            root = absorb(0, min(_PANEL, size + 1), root, block, overwrite_a=True)[0]
    root = np.triu(root)
    pulled = root[:size, :size].T @ root[:size, size]
    return HostSystem(pulled, np.sum(root[:, :size] ** 2), root, True)


def _damped(system: HostSystem, damping: np.ndarray) -> HostTriangle:
    """The triangle and right side of `[J; sqrt(damping) I]`, from those of `J`."""
    root = system.matrix
    size = root.shape[0] - 1
    below = np.zeros((size, size + 1), root.dtype, order="F")
    np.einsum("ii->i", below[:, :size])[:] = np.sqrt(damping)
    (absorb,) = get_lapack_funcs(("tpqrt",), (root,))
    with _one_thread():
        both = absorb(size, min(_PANEL, size + 1), root, below)[0]
    upper = np.asfortranarray(both[:size, :size])
    return HostTriangle(upper, both[:size, size], True)


def _substituted(upper: Any, right: Any, *, trans: int) -> Any:
    """`U^-1 right`, or with `trans` `U'^-1 right`; NaN where that fails."""
    (substitute,) = get_lapack_funcs(("trtrs",), (upper,))
    with _one_thread():
        found, failed = substitute(upper, right, trans=trans)
    return np.full_like(right, np.nan) if failed else found
