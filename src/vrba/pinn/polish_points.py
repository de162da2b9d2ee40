"""Points of the linear stage: drawn where they determine the solution best."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import Stratified
from ..fields import map_in_blocks
from ..optim import PointTerm
from .evaluator import Evaluator, Rows
from .polish import PolishDraws

_LEVERAGE_BLOCK = 256


def draw_term(
    evaluator: Evaluator,
    name: str,
    params: Any,
    pool: Rows,
    num_points: int,
    draws: PolishDraws,
    directions: Any,
    *,
    seed: np.random.SeedSequence,
) -> PointTerm:
    """Return a term of points drawn from a pool, in an even number of random blocks.

    A finite set of points is used as a whole.
    """
    term, weight = evaluator.terms[name], evaluator.term_weights[name]
    generator = np.random.default_rng(seed)
    count = len(pool[0])
    if term.residual.num_available is not None:
        ids, root = generator.permutation(count), np.ones(count)
    else:
        residual = np.asarray(evaluator.residual(params, name, pool))
        sizes = np.sqrt(np.mean(residual**2, axis=1))
        leverage = None
        if directions is not None and draws.leverage > 0:
            leverage = np.asarray(leverage_of(term, params, directions, pool))
        probability = draws.probabilities(sizes, leverage)
        number = jnp.asarray(generator.integers(2**31))
        drawn = _draw_ids(jnp.asarray(probability), num_points, number)
        ids = generator.permutation(np.asarray(drawn))
        root = np.sqrt(1 / (count * probability[ids]))
    rows = jax.tree.map(lambda leaf: leaf[ids], pool)
    dtype, size = evaluator.dtype, block_size_of(len(ids))
    weights = jnp.asarray(root, dtype)
    return PointTerm(term, rows, weights, jnp.asarray(weight, dtype), size)


@eqx.filter_jit
def _draw_ids(probability: Any, num_points: int, seed: Any) -> Any:
    return Stratified().ids(probability, num_points, key=jax.random.key(seed))


def block_size_of(num_points: int, most: int = 1024) -> int:
    """Return the size of blocks of at most `most` points, an even number of blocks."""
    num_pairs = max(1, -(-num_points // (2 * most)))
    return -(-num_points // (2 * num_pairs))


@eqx.filter_jit
def leverage_of(
    term: Any, params: Any, directions: Any, rows: Rows
) -> Float[Array, " points"]:
    """Return the mean square of the residual's derivative along random directions.

    With directions `R^-1 g`, `g` standard normal, it estimates the leverage.
    """

    def at(row):
        fn = lambda params: term(params, row)
        along = lambda direction: jax.jvp(fn, (params,), (direction,))[1]
        return jnp.sum(jnp.mean(jax.vmap(along)(directions) ** 2, axis=0))

    return map_in_blocks(at, rows, _LEVERAGE_BLOCK)
