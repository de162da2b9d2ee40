"""Least squares: residuals in blocks, so that no Jacobian is ever stored whole."""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core import InputError, check_count, flatten, to_real_vector
from .objective import AbstractObjective

Block = Int[Array, ""] | int
Rows = Float[Array, " rows"]
Vector = Float[Array, " params"]


class AbstractTerm(eqx.Module):
    """A term of the loss, `sum(residual**2)` over its blocks of rows.

    Weights and the mean over points are inside the residual, as their square roots.
    A model with a cheaper Jacobian than the general one brings its own term.
    """

    @property
    @abc.abstractmethod
    def num_blocks(self) -> int:
        """How many blocks of rows there are."""

    @abc.abstractmethod
    def residual(self, params: Any, block: Block) -> Rows:
        """The scaled residuals of one block."""

    @abc.abstractmethod
    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        """The scaled residuals of one block and their Jacobian, columns as `flatten`
        orders the parameters."""


class VectorTerm(AbstractTerm):
    """`weight mean(fn(params, *args)**2)`: a vector of residuals, in one block.

    Its Jacobian is formed whole; with many points take `PointTerm`.
    """

    fn: Callable[..., Array]
    args: tuple[Any, ...] = ()
    weight: Float[Array, ""] = eqx.field(default=1.0, converter=jnp.asarray)

    @property
    def num_blocks(self) -> int:
        """One."""
        return 1

    def residual(self, params: Any, block: Block) -> Rows:
        """All residuals."""
        residual = self.fn(params, *self.args)
        if not jnp.issubdtype(residual.dtype, jnp.inexact):
            raise InputError(
                f"Residuals must be floating numbers, got {residual.dtype}."
            )
        rows = to_real_vector(residual)
        return _root(self.weight, rows.dtype, residual.size) * rows

    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        """Forwards if there are more residuals than parameters, else backwards."""
        vector, rebuild = flatten(params)
        fn = lambda vector: self.residual(rebuild(vector), block)
        rows = fn(vector)
        jacobian = jax.jacfwd if rows.size >= vector.size else jax.jacrev
        return rows, jacobian(fn)(vector)


class PointTerm(AbstractTerm):
    """`weight mean((point_weights * residual)**2)` over points, in blocks.

    `residual_fn(params, point)` gives the residual at one point, a number or one for
    each equation. `point_weights` multiply residuals and carry no gradient.
    """

    residual_fn: Callable[[Any, Any], Array]
    points: Any
    point_weights: Float[Array, " points"] | None = None
    weight: Float[Array, ""] = eqx.field(default=1.0, converter=jnp.asarray)
    block_size: int = eqx.field(default=512, static=True)

    def __check_init__(self):
        """Every leaf of `points` has one row for each point."""
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
                f"`point_weights` has shape {weights.shape}, one for each of the "
                f"{self.num_points} points is needed."
            )
        check_count(block_size=self.block_size)

    @property
    def num_points(self) -> int:
        """The number of points."""
        return jax.tree.leaves(self.points)[0].shape[0]

    @property
    def num_blocks(self) -> int:
        """As many as are needed for blocks of at most `block_size` points."""
        return math.ceil(self.num_points / self.block_size)

    @property
    def rows_per_block(self) -> int:
        """Points in a block; the last block may overlap and counts no point twice."""
        return math.ceil(self.num_points / self.num_blocks)

    def residual(self, params: Any, block: Block) -> Rows:
        """The scaled residuals of one block; points of the overlap are zero."""
        points, factor = self._block(block)
        rows = jax.vmap(lambda point: to_real_vector(self.residual_fn(params, point)))(
            points
        )
        return self._scaled(rows, factor, params)

    def jacobian(
        self, params: Any, block: Block
    ) -> tuple[Rows, Float[Array, "rows params"]]:
        """Point by point, backwards through the residual."""
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
        """The points of a block, and the factor of each, zero if counted before."""
        count, rows = self.num_points, self.rows_per_block
        wanted = jnp.asarray(block, jnp.int32) * rows
        start = jnp.minimum(wanted, count - rows)
        cut = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, rows)
        weights = self.point_weights
        is_new = jnp.arange(rows, dtype=jnp.int32) >= wanted - start
        factor = None if weights is None else jax.lax.stop_gradient(cut(weights))
        if count % rows == 0:
            return jax.tree.map(cut, self.points), factor
        factor = is_new if factor is None else jnp.where(is_new, factor, 0)
        return jax.tree.map(cut, self.points), factor

    def _scaled(
        self, rows: Float[Array, "points each"], factor: Array | None, params: Any
    ) -> Rows:
        """`sqrt(weight / count) factor residual`, as one vector.

        A complex residual counts once.
        """
        point = jax.tree.map(lambda leaf: leaf[0], self.points)
        each = jax.eval_shape(lambda: self.residual_fn(params, point)).size
        scale = _root(self.weight, rows.dtype, self.num_points * each)
        if factor is not None:
            rows = factor.astype(rows.dtype)[:, None] * rows
        return scale * jnp.ravel(rows)


class AbstractLeastSquares(AbstractObjective):
    """A sum of terms, each a sum of squares."""

    terms: eqx.AbstractVar[tuple[AbstractTerm, ...]]


class LeastSquares(AbstractLeastSquares):
    """The sum of its terms: `LeastSquares(inside, boundary)`."""

    terms: tuple[AbstractTerm, ...]

    def __init__(self, *terms: AbstractTerm):
        if not terms:
            raise InputError("`terms` is empty: there is nothing to minimise.")
        for term in terms:
            if not isinstance(term, AbstractTerm):
                raise InputError(f"`terms` must be terms, got {term!r}.")
        self.terms = terms

    def value(self, params: Any) -> Float[Array, ""]:
        """The sum of squares, block by block."""
        square = lambda term, block: jnp.sum(term.residual(params, block) ** 2)
        return sum_over_blocks(self, square)

    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        """The sum of squares and its gradient, block by block."""
        trained, fixed = eqx.partition(params, eqx.is_inexact_array)

        def block_value(term, block):
            def loss(trained):
                rows = term.residual(eqx.combine(trained, fixed), block)
                return jnp.sum(rows**2)

            return jax.value_and_grad(loss)(trained)

        return sum_over_blocks(self, block_value)


def sum_over_blocks(objective: AbstractLeastSquares, fn: Callable[..., Any]) -> Any:
    """The sum of `fn(term, block)`, a pytree, over all blocks of all terms."""
    sums = [_sum_of_term(term, fn) for term in objective.terms]
    return jax.tree.map(lambda *parts: sum(parts[1:], start=parts[0]), *sums)


def _sum_of_term(term: AbstractTerm, fn: Callable[..., Any]) -> Any:
    """The sum over the blocks of one term, in a loop if there are several."""
    first = jnp.zeros((), jnp.int32)
    if term.num_blocks == 1:
        return fn(term, first)
    kind = jax.eval_shape(lambda block: fn(term, block), first)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), kind)

    def add(block, total):
        return jax.tree.map(jnp.add, total, fn(term, block.astype(jnp.int32)))

    # Two blocks in a round keep two cores busy: within one, XLA often uses one only.
    unroll = 2 if term.num_blocks >= 4 else 1
    return jax.lax.fori_loop(0, term.num_blocks, add, zeros, unroll=unroll)


def pull_back(
    objective: AbstractLeastSquares,
    params: Any,
    rows_fn: Callable[[Callable[[Vector], Rows], Vector], Rows],
) -> Vector:
    """`J'` times `rows_fn(residual_fn, vector)`, block by block."""
    vector, rebuild = flatten(params)

    def pull(term, block):
        residual = lambda vector: term.residual(rebuild(vector), block)
        return jax.vjp(residual, vector)[1](rows_fn(residual, vector))[0]

    return sum_over_blocks(objective, pull)


def _root(weight: Array | float, dtype: Any, count: int) -> Array:
    """`sqrt(weight / count)`, without a gradient."""
    weight = jax.lax.stop_gradient(jnp.asarray(weight)).astype(dtype)
    return jnp.sqrt(weight / count)
