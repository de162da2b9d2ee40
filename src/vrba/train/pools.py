"""The points of a run: a pool to draw from, and points that are never trained on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..problems import AbstractCondition, Formulation, Residual
from .recipe import Recipe

Rows = tuple[Float[Array, "_ _"], Float[Array, "_ _"]]

_FEWEST_TO_SPLIT = 50
_SHARE = 5
_MORE_IF_FINITE = 4


def make_pools(
    formulation: Formulation,
    residuals: dict[str, Residual],
    recipe: Recipe,
    seed: int,
    dtype: Any,
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """For each term the pool and the held-out points.

    Where there are finitely many points, as of measured values or in a cloud, a fifth
    of 50 or more is held out; fewer are both trained on and checked.
    """
    seeds = np.random.SeedSequence(seed).generate_state(2 * len(residuals))
    pools, held_out = {}, {}
    for k, (name, residual) in enumerate(residuals.items()):
        both = [int(one) for one in seeds[2 * k : 2 * k + 2]]
        counts = _sizes(recipe, formulation.conditions.get(name))
        if residual.num_available is None:
            pairs = zip(counts, both, strict=True)
            rows = [residual.sample(count, seed=one) for count, one in pairs]
        else:
            rows = _split(
                residual.sample(residual.num_available, seed=both[0]), both[1]
            )
        place = lambda part: jnp.asarray(part, dtype)
        pools[name], held_out[name] = jax.tree.map(place, rows)
    return pools, held_out


def batch_size(
    recipe: Recipe, condition: AbstractCondition | None, pool: Rows, is_finite: bool
) -> int:
    """How many points of a term are drawn: more where there are finitely many."""
    num_rows = pool[0].shape[0]
    if condition is None:
        return min(recipe.num_points, num_rows)
    usual = recipe.num_condition_points * (_MORE_IF_FINITE if is_finite else 1)
    return min(condition.soft.num_points or usual, num_rows)


def _sizes(recipe: Recipe, condition: AbstractCondition | None) -> tuple[int, int]:
    """How many points the pool and the held-out set have."""
    if condition is None:
        return recipe.pool_size, recipe.num_held_out
    count = condition.soft.num_points or recipe.num_condition_points
    return 8 * count, 2 * count


def _split(rows: tuple[Any, Any], seed: int) -> list[Any]:
    """Rows to train on and rows to check, in random order."""
    count = len(rows[0])
    order = np.random.default_rng(seed).permutation(count)
    few = count // _SHARE if count >= _FEWEST_TO_SPLIT else 0
    train, check = order[few:], order[:few] if few else order
    return [tuple(part[ids] for part in rows) for ids in (train, check)]
