"""The points of a run: a pool to draw from, and points that are never trained on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import AbstractPolicy, presets
from ..core import InputError
from ..problems import AbstractCondition, Formulation, Residual
from .recipe import Recipe

Rows = tuple[Float[Array, "_ _"], Float[Array, "_ _"]]

_FEWEST_TO_SPLIT = 50
_SHARE = 5
_FEWEST_OF_CONDITION = 256
_FEWEST_IF_FINITE = 1024
_PER_CONDITION = 8


def make_pools(
    formulation: Formulation,
    residuals: dict[str, Residual],
    recipe: Recipe,
    seed: int,
    dtype: Any,
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """For each term the pool and the held-out points.

    Where there are finitely many points, as of measured values or in a cloud, a fifth
    of 50 or more is held out unless their condition forbids it; else all are both
    trained on and checked.
    """
    seeds = np.random.SeedSequence(seed).generate_state(2 * len(residuals))
    pools, held_out = {}, {}
    for k, (name, residual) in enumerate(residuals.items()):
        both = [int(one) for one in seeds[2 * k : 2 * k + 2]]
        condition = formulation.conditions.get(name)
        counts = _sizes(recipe, condition)
        holds_out = condition is None or condition.penalty.holds_out
        if residual.num_available is None:
            _check_held_out(name, holds_out)
            pairs = zip(counts, both, strict=True)
            rows = [residual.sample(count, seed=one) for count, one in pairs]
        else:
            found = residual.sample(residual.num_available, seed=both[0])
            rows = _split(found, both[1]) if holds_out else [found, found]
        place = lambda part: jnp.asarray(part, dtype)
        pools[name], held_out[name] = jax.tree.map(place, rows)
    return pools, held_out


def _check_held_out(name: str, holds_out: bool) -> None:
    """Refuses what has no meaning where points are drawn anew."""
    if not holds_out:
        raise InputError(
            f"`Penalty(holds_out=False)` of `{name}` is for finitely many points, as of "
            "`Data`; here there are as many as are wanted: leave it out."
        )


def policy_of(
    recipe: Recipe, condition: AbstractCondition, residual: Residual
) -> AbstractPolicy:
    """How the points of a condition are drawn: by a policy of its own, or by that of
    the equations if it undoes its bias, so that only the points change and not what is
    minimised; else, and where there are finitely many points, evenly."""
    if condition.penalty.policy is not None:
        return condition.penalty.policy
    is_finite = residual.num_available is not None
    follows = recipe.policy.is_unbiased() and not is_finite
    return recipe.policy if follows else presets.uniform()


def batch_size(
    recipe: Recipe, condition: AbstractCondition | None, pool: Rows, is_finite: bool
) -> int:
    """How many points of a term are drawn."""
    num_rows = pool[0].shape[0]
    return min(_count(recipe, condition, is_finite), num_rows)


def _count(recipe: Recipe, condition: AbstractCondition | None, is_finite: bool) -> int:
    if condition is None:
        return recipe.num_points
    if condition.penalty.num_points is not None:
        return condition.penalty.num_points
    share = max(_FEWEST_OF_CONDITION, recipe.num_points // _PER_CONDITION)
    usual = recipe.num_condition_points or share
    return max(_FEWEST_IF_FINITE, usual) if is_finite else usual


def _sizes(recipe: Recipe, condition: AbstractCondition | None) -> tuple[int, int]:
    """How many points the pool and the held-out set have."""
    if condition is None:
        return recipe.pool_size, recipe.num_held_out
    count = _count(recipe, condition, is_finite=False)
    return 8 * count, 2 * count


def _split(rows: tuple[Any, Any], seed: int) -> list[Any]:
    """Rows to train on and rows to check, in random order."""
    count = len(rows[0])
    order = np.random.default_rng(seed).permutation(count)
    few = count // _SHARE if count >= _FEWEST_TO_SPLIT else 0
    train, check = order[few:], order[:few] if few else order
    return [tuple(part[ids] for part in rows) for ids in (train, check)]
