"""Objectives: any loss, least squares in blocks, and a loss evaluated beforehand."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError, flatten
from ._base import AbstractObjective
from .terms import AbstractTerm, Block, Rows, Vector


@eqx.filter_jit
def compiled_value(objective: AbstractObjective, params: Any) -> Float[Array, ""]:
    """Return the loss, evaluated by a compiled program."""
    return objective.value(params)


class Objective(AbstractObjective):
    """The loss `fn(params, *args)`; `args` holds what changes between steps."""

    fn: Callable[..., Float[Array, ""]]
    args: tuple[Any, ...] = ()

    @override
    def value(self, params: Any) -> Float[Array, ""]:
        return self._checked_value(params)

    @override
    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        return eqx.filter_value_and_grad(self._checked_value)(params)

    def _checked_value(self, params: Any) -> Float[Array, ""]:
        value = self.fn(params, *self.args)
        shape = getattr(value, "shape", None)
        if shape != ():
            found = type(value).__name__ if shape is None else f"shape {shape}"
            raise InputError(
                f"`fn` must return one number as an array, got {found}. For a vector "
                "of residuals use `LevenbergMarquardt`, or return their mean square."
            )
        return value


class PrecomputedObjective(AbstractObjective):
    """A loss whose value and gradient at `params` are already known.

    For steps that find the gradient together with other results, such as the residual
    that updates sampling weights. The optimizer may evaluate it at `params` only, as
    `Adam` and `FromOptax` without a line search do. `PrecomputedObjective(params)`
    alone serves `optimizer.init`.
    """

    params: Any
    computed_value: Float[Array, ""] | None = None
    computed_gradient: Any = None

    @override
    def value(self, params: Any) -> Float[Array, ""]:
        return self.value_and_gradient(params)[0]

    @override
    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        if params is not self.params or self.computed_value is None:
            raise InputError(
                "The optimizer evaluates the loss at other parameters than those of "
                "the precomputed gradient: use an optimizer without a line search, "
                "such as `Adam()`."
            )
        return self.computed_value, self.computed_gradient


class AbstractLeastSquares(AbstractObjective):
    """A sum of terms, each a sum of squared residuals."""

    terms: eqx.AbstractVar[tuple[AbstractTerm, ...]]


class LeastSquares(AbstractLeastSquares):
    """The sum of its terms: `LeastSquares(interior, boundary)`."""

    terms: tuple[AbstractTerm, ...]

    def __init__(self, *terms: AbstractTerm):
        if not terms:
            raise InputError("`terms` is empty: give at least one term to minimise.")
        for term in terms:
            if not isinstance(term, AbstractTerm):
                raise InputError(
                    "`terms` must be terms such as `PointTerm` or `VectorTerm`, got "
                    f"{term!r}."
                )
        self.terms = terms

    @override
    def value(self, params: Any) -> Float[Array, ""]:
        square = lambda term, block: jnp.sum(term.residual(params, block) ** 2)
        return sum_over_blocks(self, square)

    @override
    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        trained, fixed = eqx.partition(params, eqx.is_inexact_array)

        def block_value(term, block):
            def loss(trained):
                rows = term.residual(eqx.combine(trained, fixed), block)
                return jnp.sum(rows**2)

            return jax.value_and_grad(loss)(trained)

        return sum_over_blocks(self, block_value)


def sum_over_blocks(objective: AbstractLeastSquares, fn: Callable[..., Any]) -> Any:
    """Sum the pytree `fn(term, block)` over all blocks of all terms."""
    sums = [_sum_of_term(term, fn) for term in objective.terms]
    return jax.tree.map(lambda *parts: sum(parts[1:], start=parts[0]), *sums)


def _sum_of_term(term: AbstractTerm, fn: Callable[..., Any]) -> Any:
    """Sum over the blocks of one term; several blocks are a compiled loop."""
    first = jnp.zeros((), jnp.int32)
    if term.num_blocks == 1:
        return fn(term, first)
    shapes = jax.eval_shape(lambda block: fn(term, block), first)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def add(block, total):
        return jax.tree.map(jnp.add, total, fn(term, block.astype(jnp.int32)))

    # Two blocks per iteration occupy two cores: within one, XLA often uses only one.
    unroll = 2 if term.num_blocks >= 4 else 1
    return jax.lax.fori_loop(0, term.num_blocks, add, zeros, unroll=unroll)


def jacobian_blocks(
    objective: AbstractLeastSquares, params: Any
) -> Iterator[tuple[Rows, Float[Array, "rows params"]]]:
    """Yield residuals and Jacobian of every block, each by a compiled program."""
    for term in objective.terms:
        for block in range(term.num_blocks):
            yield compiled_jacobian(term, params, jnp.asarray(block, jnp.int32))


@eqx.filter_jit
def compiled_jacobian(
    term: AbstractTerm, params: Any, block: Block
) -> tuple[Rows, Float[Array, "rows params"]]:
    """Return `term.jacobian(params, block)`, evaluated by a compiled program."""
    return term.jacobian(params, block)


def pull_back(
    objective: AbstractLeastSquares,
    params: Any,
    rows_fn: Callable[[Callable[[Vector], Rows], Vector], Rows],
) -> Vector:
    """Return `J'` times `rows_fn(residual_fn, vector)`, summed block by block."""
    vector, rebuild = flatten(params)

    def pull(term, block):
        residual = lambda vector: term.residual(rebuild(vector), block)
        return jax.vjp(residual, vector)[1](rows_fn(residual, vector))[0]

    return sum_over_blocks(objective, pull)
