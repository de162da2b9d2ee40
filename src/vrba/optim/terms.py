"""Terms of a least-squares loss: residuals and Jacobians, block by block."""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from typing_extensions import override

from ..core import InputError, check_count, flatten, to_real_vector

Block = Int[Array, ""] | int
Rows = Float[Array, " rows"]
Vector = Float[Array, " params"]


class AbstractTerm(eqx.Module):
    """A term of the loss: the sum of `residual**2` over its blocks of rows.

    The residual includes the square roots of the weights and of `1 / num_points`.
    Subclass this for a model with a Jacobian cheaper than automatic differentiation.
    """

    @property
    @abc.abstractmethod
    def num_blocks(self) -> int:
        """The number of blocks of rows."""

    @abc.abstractmethod
    def residual(self, params: Any, block: Block) -> Rows:
        """Return the scaled residuals of one block."""

    @abc.abstractmethod
    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        """Return the scaled residuals of one block, and their Jacobian.

        Its columns are in the parameter order of `flatten`.
        """


class VectorTerm(AbstractTerm):
    """`weight mean(fn(params, *args)**2)`: a vector of residuals, in one block.

    Its whole Jacobian is in memory at once; use `PointTerm` for many points.
    """

    fn: Callable[..., Array]
    args: tuple[Any, ...] = ()
    weight: Float[Array, ""] = eqx.field(default=1.0, converter=jnp.asarray)

    @property
    @override
    def num_blocks(self) -> int:
        return 1

    @override
    def residual(self, params: Any, block: Block) -> Rows:
        residual = self.fn(params, *self.args)
        if not jnp.issubdtype(residual.dtype, jnp.inexact):
            raise InputError(
                "`fn` must return floating numbers as residuals, got "
                f"{residual.dtype}: convert them with `astype(float)`."
            )
        rows = to_real_vector(residual)
        return _scale(self.weight, rows.dtype, residual.size) * rows

    @override
    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        vector, rebuild = flatten(params)
        fn = lambda vector: self.residual(rebuild(vector), block)
        rows = fn(vector)  # the cheaper mode depends on the shape of the Jacobian
        jacobian = jax.jacfwd if rows.size >= vector.size else jax.jacrev
        return rows, jacobian(fn)(vector)


class PointTerm(AbstractTerm):
    """`weight mean((point_weights * residual)**2)` over points, in blocks.

    `residual_fn(params, point)` returns the residual at one point: one number, or one
    for each equation. `point_weights` multiply residuals and carry no gradient.
    """

    residual_fn: Callable[[Any, Any], Array]
    points: Any
    point_weights: Float[Array, " points"] | None = None
    weight: Float[Array, ""] = eqx.field(default=1.0, converter=jnp.asarray)
    block_size: int = eqx.field(default=512, static=True)

    def __check_init__(self):
        """Check that `points` and `point_weights` have one row for each point."""
        shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(self.points)]
        counts = {shape[0] if shape else 0 for shape in shapes}
        if len(counts) != 1 or 0 in counts:
            raise InputError(
                "`points` must be arrays with one row for each point, got shapes "
                f"{shapes}."
            )
        weights = self.point_weights
        if weights is not None and weights.shape != (counts.pop(),):
            raise InputError(
                f"`point_weights` has shape {weights.shape}: give one weight for each "
                f"of the {self.num_points} points."
            )
        check_count(block_size=self.block_size)

    @property
    def num_points(self) -> int:
        """The number of rows of `points`."""
        return jax.tree.leaves(self.points)[0].shape[0]

    @property
    @override
    def num_blocks(self) -> int:
        return math.ceil(self.num_points / self.block_size)

    @property
    def rows_per_block(self) -> int:
        """Points in a block. The last block may overlap its predecessor; it counts no
        point twice."""
        return math.ceil(self.num_points / self.num_blocks)

    @override
    def residual(self, params: Any, block: Block) -> Rows:
        points, factor = self._block(block)
        rows = jax.vmap(lambda point: to_real_vector(self.residual_fn(params, point)))(
            points
        )
        return self._scaled(rows, factor, params)

    @override
    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        vector, rebuild = flatten(params)
        points, factor = self._block(block)

        def at_point(point):
            fn = lambda vector: to_real_vector(self.residual_fn(rebuild(vector), point))
            rows, pull = jax.vjp(fn, vector)
            unit = jnp.eye(rows.size, dtype=rows.dtype)
            return rows, jax.vmap(lambda cotangent: pull(cotangent)[0])(unit)

        rows, jacobian = jax.vmap(at_point)(points)
        scaled = self._scaled(rows, factor, params)
        scale = self._scaled(jnp.ones_like(rows), factor, params)
        return scaled, scale[:, None] * jacobian.reshape(-1, vector.size)

    def _block(self, block: Block) -> tuple[Any, Array | None]:
        """Return the points of a block and their factors; zero for repeated points."""
        count, rows = self.num_points, self.rows_per_block
        start_row = jnp.asarray(block, jnp.int32) * rows
        start = jnp.minimum(start_row, count - rows)
        take = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, rows)
        weights = self.point_weights
        is_new = jnp.arange(rows, dtype=jnp.int32) >= start_row - start
        factor = None if weights is None else jax.lax.stop_gradient(take(weights))
        if count % rows == 0:
            return jax.tree.map(take, self.points), factor
        factor = is_new if factor is None else jnp.where(is_new, factor, 0)
        return jax.tree.map(take, self.points), factor

    def _scaled(
        self, rows: Float[Array, "points each"], factor: Array | None, params: Any
    ) -> Rows:
        """Return `sqrt(weight / count) factor residual` as one vector.

        A complex residual counts as one.
        """
        point = jax.tree.map(lambda leaf: leaf[0], self.points)
        num_residuals = jax.eval_shape(lambda: self.residual_fn(params, point)).size
        scale = _scale(self.weight, rows.dtype, self.num_points * num_residuals)
        if factor is not None:
            rows = factor.astype(rows.dtype)[:, None] * rows
        return scale * jnp.ravel(rows)


def _scale(weight: Array | float, dtype: Any, count: int) -> Array:
    """Return `sqrt(weight / count)`, without a gradient."""
    weight = jax.lax.stop_gradient(jnp.asarray(weight)).astype(dtype)
    return jnp.sqrt(weight / count)
