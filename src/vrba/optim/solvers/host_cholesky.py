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

from ...core import flatten
from ..least_squares import AbstractLeastSquares
from ._base import (
    AbstractSolver,
    AbstractSystem,
    Scalar,
    Vector,
    check_qr_below,
    default_qr_below,
)
from .cholesky import Cholesky, CholeskySystem, Triangle

HostVector = Float[np.ndarray, " params"]

_BY_QR = Cholesky(qr_below=float("inf"))


class HostSystem(AbstractSystem):
    """The upper half of `J'J` in the host's memory, or a system factored by QR."""

    pulled: Any
    scale: Any
    matrix: Any


class HostTriangle(eqx.Module):
    """LAPACK's upper triangle, or none if the matrix was not positive definite."""

    upper: Any
    pulled: Any


class HostCholesky(AbstractSolver):
    """`Cholesky` with products by the BLAS of SciPy, for steps outside `jit`.

    Only half of each product is formed. `qr_below` as in `Cholesky`.
    """

    qr_below: float | None = None

    def __check_init__(self):
        """Settings in range."""
        check_qr_below(self.qr_below)

    @property
    def is_compiled(self) -> bool:
        """Steps are made one by one; what they evaluate is compiled."""
        return False

    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> HostSystem | CholeskySystem:
        """Products of blocks, in turn: XLA and BLAS at once slow each other down."""
        if isinstance(relative_damping, Tracer):
            raise ValueError(
                "`HostCholesky` cannot be compiled into a larger program: take "
                "`LevenbergMarquardt(solver=Cholesky())` there."
            )
        dtype = flatten(params)[0].dtype
        limit = default_qr_below(dtype) if self.qr_below is None else self.qr_below
        if relative_damping < limit:
            return _assemble_root(objective, params, relative_damping)
        size = flatten(params)[0].size
        matrix = np.zeros((size, size), dtype, order="F")
        pulled = np.zeros(size, dtype)
        square, times = get_blas_funcs(("syrk", "gemv"), (matrix,))
        for rows, jacobian in _blocks(objective, params):
            across = np.asarray(jacobian).T
            matrix = square(1.0, across, beta=1.0, c=matrix, overwrite_c=True)
            pulled = times(1.0, across, np.asarray(rows), 1.0, pulled)
        return HostSystem(pulled, np.trace(matrix), matrix)

    def factor(
        self, system: HostSystem | CholeskySystem, damping: Scalar
    ) -> HostTriangle | Triangle:
        """The upper triangle of the damped system."""
        if isinstance(system, CholeskySystem):
            return _factor_root(system, damping)
        matrix = system.matrix.copy(order="F")
        np.einsum("ii->i", matrix)[:] += np.asarray(damping)
        (factorise,) = get_lapack_funcs(("potrf",), (matrix,))
        with _one_thread():
            upper, failed = factorise(
                matrix, lower=False, clean=False, overwrite_a=True
            )
        return HostTriangle(None if failed else upper, system.pulled)

    def step(self, factor: HostTriangle | Triangle) -> Vector:
        """Two triangular solves, or one after QR."""
        if isinstance(factor, Triangle):
            return _step_root(factor)
        return -self.solve(factor, factor.pulled)

    def solve(
        self, factor: HostTriangle | Triangle, vector: Vector | HostVector
    ) -> Vector:
        """Two triangular solves."""
        if isinstance(factor, Triangle):
            return _solve_root(factor, jnp.asarray(vector))
        if factor.upper is None:
            return jnp.full(vector.shape, jnp.nan, vector.dtype)
        (substitute,) = get_lapack_funcs(("potrs",), (factor.upper,))
        with _one_thread():
            return jnp.asarray(substitute(factor.upper, np.asarray(vector))[0])

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


@eqx.filter_jit
def _assemble_root(objective, params, relative_damping):
    return _BY_QR.assemble(objective, params, relative_damping)


@eqx.filter_jit
def _factor_root(system, damping):
    return _BY_QR.factor(system, damping)


@eqx.filter_jit
def _step_root(factor):
    return _BY_QR.step(factor)


@eqx.filter_jit
def _solve_root(factor, vector):
    return _BY_QR.solve(factor, vector)
