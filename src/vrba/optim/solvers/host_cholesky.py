"""Normal equations by Cholesky or QR with the host's BLAS, faster than XLA on a CPU."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Float
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs
from typing_extensions import override

from ...core import InputError, flatten
from ..objectives import AbstractLeastSquares, jacobian_blocks
from ..streamed_qr import StreamedQR, damp_triangle, one_thread
from ._base import AbstractCholesky, AbstractSystem, Scalar, Vector

HostVector = Float[np.ndarray, " params"]


class HostSystem(AbstractSystem):
    """The upper half of `J'J` in host memory, or the triangle of `[J, r]`.

    It is the triangle if `is_triangle`.
    """

    half_gradient: Any
    scale: Any
    matrix: Any
    is_triangle: bool


class HostTriangle(eqx.Module):
    """LAPACK's upper triangle, None if the matrix is not positive definite, and `J'r`.

    If `is_triangle`, `right` is `Q'r` instead, for a single triangular solve.
    """

    upper: Any
    right: Any
    is_triangle: bool


class HostCholesky(AbstractCholesky):
    """`Cholesky` with products by SciPy's BLAS, for steps outside `jit`.

    It forms only half of each product. The settings are those of `Cholesky`.
    """

    qr_below: float | None = None
    max_params: int = 20_000

    @property
    @override
    def is_compiled(self) -> bool:
        return False

    @property
    @override
    def num_matrices(self) -> int:
        """`J'J` or `R`, its factor, and what QR works on."""
        return 4

    @override
    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> HostSystem:
        if isinstance(relative_damping, Tracer):
            raise InputError(
                "`HostCholesky` cannot be part of a compiled program: use "
                "`LevenbergMarquardt(solver=Cholesky())` there."
            )
        self.check_size(params)
        vector = flatten(params)[0]
        dtype, size = vector.dtype, vector.size
        if relative_damping < self.qr_limit(dtype):
            return _triangle_of(objective, params, size, dtype)
        matrix = np.zeros((size, size), dtype, order="F")
        half_gradient = np.zeros(size, dtype)
        square, times = get_blas_funcs(("syrk", "gemv"), (matrix,))
        # Blocks in turn: XLA and BLAS at the same time slow each other down.
        for rows, jacobian in jacobian_blocks(objective, params):
            across = np.asarray(jacobian).T
            matrix = square(1.0, across, beta=1.0, c=matrix, overwrite_c=True)
            half_gradient = times(1.0, across, np.asarray(rows), 1.0, half_gradient)
        return HostSystem(half_gradient, np.trace(matrix), matrix, False)

    @override
    def factor(self, system: HostSystem, damping: Scalar) -> HostTriangle:
        if system.is_triangle:
            return _damped_triangle(system, np.asarray(damping))
        matrix = system.matrix.copy(order="F")
        np.einsum("ii->i", matrix)[:] += np.asarray(damping)
        (factorise,) = get_lapack_funcs(("potrf",), (matrix,))
        with one_thread():
            upper, has_failed = factorise(
                matrix, lower=False, clean=False, overwrite_a=True
            )
        return HostTriangle(None if has_failed else upper, system.half_gradient, False)

    @override
    def step(self, factor: HostTriangle) -> Vector:
        if factor.is_triangle:
            return jnp.asarray(-_solve_triangular(factor.upper, factor.right, trans=0))
        return -self.solve(factor, factor.right)

    @override
    def solve(self, factor: HostTriangle, vector: Vector | HostVector) -> Vector:
        if factor.upper is None:
            return jnp.full(vector.shape, jnp.nan, vector.dtype)
        inner = _solve_triangular(factor.upper, np.asarray(vector), trans=1)
        return jnp.asarray(_solve_triangular(factor.upper, inner, trans=0))


def _triangle_of(objective, params, size, dtype) -> HostSystem:
    """Return the triangle of `[J, r]`, updated by each block; as accurate as `J`."""
    blocks = jacobian_blocks(objective, params)
    triangle = StreamedQR.empty(size, dtype).absorb(blocks).triangle
    half_gradient = triangle[:size, :size].T @ triangle[:size, size]
    return HostSystem(half_gradient, np.sum(triangle[:, :size] ** 2), triangle, True)


def _damped_triangle(system: HostSystem, damping: np.ndarray) -> HostTriangle:
    """Return triangle and right side of `[J; sqrt(damping) I]` from those of `J`."""
    both = damp_triangle(system.matrix[:-1], float(np.sqrt(damping)))
    return HostTriangle(np.asfortranarray(both[:, :-1]), both[:, -1], True)


def _solve_triangular(upper: Any, right: Any, *, trans: int) -> Any:
    """Return `U^-1 right`, or with `trans` `U'^-1 right`; NaN where that fails."""
    (substitute,) = get_lapack_funcs(("trtrs",), (upper,))
    with one_thread():
        found, has_failed = substitute(upper, right, trans=trans)
    return np.full_like(right, np.nan) if has_failed else found
