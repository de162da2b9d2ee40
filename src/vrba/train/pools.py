"""The points of a run: a pool to draw from, and points that are never trained on."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..problems import AbstractCondition, Formulation, Residual
from .recipe import Recipe

Rows = tuple[Float[Array, "_ _"], Float[Array, " _"]]

_FEWEST_TO_SPLIT = 50
_SHARE = 5


def make_pools(
    formulation: Formulation,
    residuals: dict[str, Residual],
    recipe: Recipe,
    seed: int,
    dtype: Any,
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """For each term the pool and the held-out points.

    Measured values cannot be drawn afresh: of 50 or more a fifth is held out; fewer are
    both trained on and checked.
    """
    seeds = np.random.SeedSequence(seed).generate_state(2 * len(residuals))
    pools, held_out = {}, {}
    for k, (name, residual) in enumerate(residuals.items()):
        both = [int(one) for one in seeds[2 * k : 2 * k + 2]]
        condition = formulation.conditions.get(name)
        if condition is not None and not condition.has_fresh_points:
            pool, fresh = _split(residual.sample(1, seed=both[0]), both[1])
        else:
            counts = _sizes(recipe, condition)
            pool, fresh = (
                residual.sample(count, seed=one)
                for count, one in zip(counts, both, strict=True)
            )
        pools[name], held_out[name] = _placed(pool, dtype), _placed(fresh, dtype)
    return pools, held_out


def batch_size(
    recipe: Recipe, condition: AbstractCondition | None, num_rows: int
) -> int:
    """How many points of a term are drawn; of measured values all, within reason."""
    if condition is None:
        return recipe.num_points
    few = recipe.num_condition_points
    usual = few if condition.has_fresh_points else recipe.num_points
    return min(condition.soft.num_points or usual, num_rows)


def _sizes(recipe: Recipe, condition: AbstractCondition | None) -> tuple[int, int]:
    """How many points the pool and the held-out set have."""
    if condition is None:
        return recipe.pool_size, recipe.num_held_out
    count = condition.soft.num_points or recipe.num_condition_points
    return 8 * count, 2 * count


def _split(rows: tuple[Any, Any], seed: int) -> tuple[Any, Any]:
    """Rows to train on and rows to check, in random order."""
    count = len(rows[0])
    order = np.random.default_rng(seed).permutation(count)
    if count < _FEWEST_TO_SPLIT:
        train, check = order, order
    else:
        train, check = order[count // _SHARE :], order[: count // _SHARE]
    pick = lambda ids: tuple(part[ids] for part in rows)
    return pick(train), pick(check)


def _placed(rows: tuple[Any, Any], dtype: Any) -> Rows:
    """On the device."""
    points, numbers = rows
    return jnp.asarray(points, dtype), jnp.asarray(numbers, dtype)
