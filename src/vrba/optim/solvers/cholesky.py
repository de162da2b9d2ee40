"""Normal equations, Cholesky and, where damping is tiny, QR; all compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from ...core import check_fits, flatten
from ..least_squares import AbstractLeastSquares, sum_over_blocks
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
from ._orthogonal import damped_triangle, triangle_of


class CholeskySystem(AbstractSystem):
    """`matrix` is `J'J`, or the triangle `R` of `J` if `is_root`."""

    pulled: Vector
    scale: Scalar
    matrix: Float[Array, "params params"]
    projected: Vector
    is_root: Bool[Array, ""]


class Triangle(eqx.Module):
    """The upper triangle `U` of the damped system, and `U'^-1 J'r`."""

    upper: Float[Array, "params params"]
    projected: Vector


class Cholesky(AbstractSolver):
    """`J'J` accumulated in blocks and factored by Cholesky, compiled for any device.

    After a step whose damping was below `qr_below` times the trace of `J'J`, the
    precision if not given, `J` is factored by QR instead, also in blocks, which costs
    more. On a CPU `HostCholesky` multiplies faster. More than `max_params` parameters
    are refused: the matrix has their square.
    """

    qr_below: float | None = None
    max_params: int = 20_000

    def __check_init__(self):
        """Settings in range."""
        check_settings(self.qr_below, self.max_params)

    @property
    def is_compiled(self) -> bool:
        """A step can be compiled."""
        return True

    @property
    def num_matrices(self) -> int:
        """`J'J`, the products of a block, and factors on both branches."""
        return 6

    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> CholeskySystem:
        """Products of blocks, or their triangles if the damping is tiny."""
        check_fits(flatten(params)[0], self.max_params, INSTEAD)

        def products():
            def block_products(term, block):
                rows, jacobian = term.jacobian(params, block)
                times = partial(jnp.matmul, jacobian.T, precision="highest")
                return times(jacobian), times(rows)

            matrix, pulled = sum_over_blocks(objective, block_products)
            no = jnp.zeros((), bool)
            return CholeskySystem(pulled, jnp.trace(matrix), matrix, pulled, no)

        def triangles():
            root, projected = triangle_of(objective, params)
            scale, yes = jnp.sum(root**2), jnp.ones((), bool)
            return CholeskySystem(root.T @ projected, scale, root, projected, yes)

        limit = find_qr_below(self.qr_below, relative_damping.dtype)
        if limit == 0:
            return products()
        return jax.lax.cond(relative_damping < limit, triangles, products)

    def smallest(self, system: CholeskySystem) -> Scalar:
        """Down to where QR begins; after it next to none."""
        return smallest_damping(system.is_root, self.qr_below, system.pulled.dtype)

    def factor(self, system: CholeskySystem, damping: Scalar) -> Triangle:
        """The upper triangle of the damped system."""

        def by_root(system):
            return damped_triangle(system.matrix, system.projected, damping)

        def by_cholesky(system):
            eye = jnp.eye(system.pulled.size, dtype=system.pulled.dtype)
            upper = jnp.linalg.cholesky(system.matrix + damping * eye, upper=True)
            return upper, solve_triangular(upper, system.pulled, trans=1)

        if self.qr_below == 0:
            upper, projected = by_cholesky(system)
        else:
            upper, projected = jax.lax.cond(
                system.is_root, by_root, by_cholesky, system
            )
        return Triangle(upper, projected)

    def step(self, factor: Triangle) -> Vector:
        """One triangular solve."""
        return -solve_triangular(factor.upper, factor.projected)

    def solve(self, factor: Triangle, vector: Vector) -> Vector:
        """Two triangular solves."""
        inner = solve_triangular(factor.upper, vector, trans=1)
        return solve_triangular(factor.upper, inner)

    def loop(
        self, go_on: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any
    ) -> Any:
        """Compiled."""
        return jax.lax.while_loop(go_on, body, carry)
