"""Normal equations by Cholesky or QR, compiled for any device."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float
from typing_extensions import override

from ...core import flatten
from ..objectives import AbstractLeastSquares, sum_over_blocks
from ..terms import AbstractTerm
from ._base import AbstractCholesky, AbstractSystem, Scalar, Vector

Square = Float[Array, "params params"]


class CholeskySystem(AbstractSystem):
    """`matrix` is `J'J`, or the triangle `R` of `J = QR` if `is_triangle`.

    `projected` is then `Q'r`, otherwise `J'r`.
    """

    half_gradient: Vector
    scale: Scalar
    matrix: Square
    projected: Vector
    is_triangle: Bool[Array, ""]


class Triangle(eqx.Module):
    """The upper triangle `U` of the damped system, and `U'^-1 J'r`."""

    upper: Square
    projected: Vector


class Cholesky(AbstractCholesky):
    """`J'J` summed in blocks and factored by Cholesky, compiled for any device.

    After a step with a damping below `qr_below` times the trace of `J'J` (default: the
    machine precision), it factors `J` by QR instead, also in blocks, at a higher cost.
    On a CPU `HostCholesky` multiplies faster. More than `max_params` parameters raise
    an error: the matrix has `params**2` numbers.
    """

    qr_below: float | None = None
    max_params: int = 20_000

    @property
    @override
    def is_compiled(self) -> bool:
        return True

    @property
    @override
    def num_matrices(self) -> int:
        """`J'J`, the products of a block, and factors on both branches."""
        return 6

    @override
    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> CholeskySystem:
        self.check_size(params)

        def products():
            def block_products(term, block):
                rows, jacobian = term.jacobian(params, block)
                times = partial(jnp.matmul, jacobian.T, precision="highest")
                return times(jacobian), times(rows)

            matrix, half_gradient = sum_over_blocks(objective, block_products)
            no = jnp.zeros((), bool)
            return CholeskySystem(
                half_gradient, jnp.trace(matrix), matrix, half_gradient, no
            )

        def triangles():
            triangle, projected = _triangle_of(objective, params)
            scale, yes = jnp.sum(triangle**2), jnp.ones((), bool)
            half_gradient = triangle.T @ projected
            return CholeskySystem(half_gradient, scale, triangle, projected, yes)

        limit = self.qr_limit(relative_damping.dtype)
        if limit == 0:
            return products()
        return jax.lax.cond(relative_damping < limit, triangles, products)

    @override
    def factor(self, system: CholeskySystem, damping: Scalar) -> Triangle:
        def by_qr(system):
            return _damped_triangle(system.matrix, system.projected, damping)

        def by_cholesky(system):
            half_gradient = system.half_gradient
            eye = jnp.eye(half_gradient.size, dtype=half_gradient.dtype)
            upper = jnp.linalg.cholesky(system.matrix + damping * eye, upper=True)
            return upper, solve_triangular(upper, half_gradient, trans=1)

        if self.qr_below == 0:
            return Triangle(*by_cholesky(system))
        return Triangle(*jax.lax.cond(system.is_triangle, by_qr, by_cholesky, system))

    @override
    def step(self, factor: Triangle) -> Vector:
        return -solve_triangular(factor.upper, factor.projected)

    @override
    def solve(self, factor: Triangle, vector: Vector) -> Vector:
        inner = solve_triangular(factor.upper, vector, trans=1)
        return solve_triangular(factor.upper, inner)


def _triangle_of(objective: AbstractLeastSquares, params: Any) -> tuple[Square, Vector]:
    """Return `R` and `Q'r` of `J = QR`, as accurate as `J` itself.

    Blocks are stacked until they have as many rows as columns.
    """
    vector = flatten(params)[0]
    size = vector.size
    triangle = jnp.zeros((size + 1, size + 1), vector.dtype)
    for term in objective.terms:
        triangle = _absorb(triangle, term, params)
    return triangle[:size, :size], triangle[:size, size]


def _absorb(triangle: Square, term: AbstractTerm, params: Any) -> Square:
    """Return the triangle of `triangle` stacked on all rows of a term."""

    def augmented(block):
        rows, jacobian = term.jacobian(params, block)
        return jnp.concatenate([jacobian, rows[:, None]], axis=1)

    rows = jax.eval_shape(augmented, jnp.zeros((), jnp.int32)).shape[0]
    group = min(math.ceil(triangle.shape[0] / rows), term.num_blocks)
    num_groups = math.ceil(term.num_blocks / group)

    def body(index, triangle):
        blocks = index * group + jnp.arange(group, dtype=jnp.int32)
        stack = jax.lax.map(augmented, jnp.minimum(blocks, term.num_blocks - 1))
        stack = jnp.where((blocks < term.num_blocks)[:, None, None], stack, 0)
        stack = stack.reshape(group * rows, triangle.shape[0])
        return jnp.linalg.qr(jnp.concatenate([triangle, stack]), mode="r")

    first, last = (jnp.asarray(n, jnp.int32) for n in (0, num_groups))
    return jax.lax.fori_loop(first, last, body, triangle)


def _damped_triangle(
    triangle: Square, projected: Vector, damping: Scalar
) -> tuple[Square, Vector]:
    """Return triangle and right side of `[J; sqrt(damping) I]` from those of `J`."""
    size = triangle.shape[0]
    below = jnp.sqrt(damping) * jnp.eye(size, dtype=triangle.dtype)
    top = jnp.concatenate([triangle, projected[:, None]], axis=1)
    below = jnp.concatenate([below, jnp.zeros_like(projected)[:, None]], axis=1)
    both = jnp.linalg.qr(jnp.concatenate([top, below]), mode="r")
    return both[:size, :size], both[:size, size]
