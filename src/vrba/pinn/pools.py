"""The points of a run: a pool to draw from, and held-out points."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..adapt import AbstractPolicy, presets
from ..core import InputError
from ..problems import AbstractCondition, Residual
from .evaluator import Evaluator, Rows
from .recipe import Recipe

Sample = Callable[..., Any]  # like `Evaluator.sample`

_MIN_TO_SPLIT = 50
_HELD_OUT_FRACTION = 5  # one in five
_MIN_CONDITION_POINTS = 256
_MIN_IF_FINITE = 1024
_EQUATION_POINTS_PER_POINT = 8


def make_pools(
    evaluator: Evaluator, sample_fn: Sample | None = None
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """The pool and the held-out points of each term.

    Where only finitely many points exist, as in `Data` or a point cloud, a fifth of 50
    or more is held out unless the condition forbids it; otherwise all of them are
    trained on and checked. `sample_fn` replaces `evaluator.sample`.
    """
    sample_fn = sample_fn or evaluator.sample
    pools, held_out = {}, {}
    for name, seeds in _seeds_of_terms(evaluator).items():
        residual = evaluator.terms[name].residual
        if residual.num_available is None:
            _check_holds_out(evaluator, name)
            counts = _sizes(evaluator.recipe, _condition(evaluator, name))
            pairs = zip(counts, seeds, strict=True)
            rows = [sample_fn(name, count, seed=seed) for count, seed in pairs]
        else:
            rows = _split_finite(evaluator, name, seeds, sample_fn)
        pools[name], held_out[name] = _on_device(evaluator, rows)
    return pools, held_out


def make_held_out(evaluator: Evaluator) -> dict[str, Rows]:
    """The held-out points alone, without the cost of the pools."""
    held_out = {}
    for name, (first, second) in _seeds_of_terms(evaluator).items():
        residual = evaluator.terms[name].residual
        if residual.num_available is None:
            count = _sizes(evaluator.recipe, _condition(evaluator, name))[1]
            rows = evaluator.sample(name, count, seed=second)
        else:
            seeds = first, second
            rows = _split_finite(evaluator, name, seeds, evaluator.sample)[1]
        held_out[name] = _on_device(evaluator, rows)
    return held_out


def _seeds_of_terms(evaluator: Evaluator) -> dict[str, tuple[int, int]]:
    """Two seeds for each term: one for the pool, one for the held-out points."""
    names = sorted(evaluator.terms)  # compiled programs sort dictionaries, too
    seeds = np.random.SeedSequence(evaluator.seed).generate_state(2 * len(names))
    each = zip(names, seeds[::2], seeds[1::2], strict=True)
    return {name: (int(first), int(second)) for name, first, second in each}


def _condition(evaluator: Evaluator, name: str) -> AbstractCondition | None:
    return evaluator.formulation.conditions.get(name)


def _on_device(evaluator: Evaluator, rows: Any) -> Any:
    return jax.tree.map(lambda part: jnp.asarray(part, evaluator.dtype), rows)


def _split_finite(
    evaluator: Evaluator, name: str, seeds: tuple[int, int], sample_fn: Sample
) -> list[tuple[Any, Any]]:
    """Rows to train on and rows to check, of a finite set."""
    residual, condition = evaluator.terms[name].residual, _condition(evaluator, name)
    found = sample_fn(name, residual.num_available or 0, seed=seeds[0])
    holds_out = condition is None or condition.penalty.holds_out
    return _split(found, seeds[1]) if holds_out else [found, found]


def _check_holds_out(evaluator: Evaluator, name: str) -> None:
    """Raise if a condition whose points are unlimited asks for no held-out points."""
    condition = _condition(evaluator, name)
    if condition is not None and not condition.penalty.holds_out:
        raise InputError(
            f"`Penalty(holds_out=False)` of `{name}` needs a finite set of points, as "
            "in `Data`; the points of this condition are unlimited: leave it out."
        )


def policy_of(
    recipe: Recipe, condition: AbstractCondition, residual: Residual
) -> AbstractPolicy:
    """The policy of a condition: its own; else that of the equations if it is unbiased
    and the points are unlimited; else uniform sampling."""
    if condition.penalty.policy is not None:
        return condition.penalty.policy
    is_finite = residual.num_available is not None
    follows = recipe.policy.is_unbiased() and not is_finite
    return recipe.policy if follows else presets.uniform()


def batch_size(
    recipe: Recipe, condition: AbstractCondition | None, pool: Rows, is_finite: bool
) -> int:
    """The number of points of a term in a batch."""
    num_rows = pool[0].shape[0]
    return min(_count(recipe, condition, is_finite), num_rows)


def _count(recipe: Recipe, condition: AbstractCondition | None, is_finite: bool) -> int:
    if condition is None:
        return recipe.num_points
    if condition.penalty.num_points is not None:
        return condition.penalty.num_points
    if condition.default_num_points is not None:
        return condition.default_num_points
    share = max(_MIN_CONDITION_POINTS, recipe.num_points // _EQUATION_POINTS_PER_POINT)
    usual = recipe.num_condition_points or share
    return max(_MIN_IF_FINITE, usual) if is_finite else usual


def _sizes(recipe: Recipe, condition: AbstractCondition | None) -> tuple[int, int]:
    """The sizes of the pool and of the held-out set."""
    if condition is None:
        return recipe.pool_size, recipe.num_held_out
    count = _count(recipe, condition, is_finite=False)
    return 8 * count, 2 * count


def _split(rows: tuple[Any, Any], seed: int) -> list[Any]:
    """Split rows in random order; too few are used for both."""
    count = len(rows[0])
    order = np.random.default_rng(seed).permutation(count)
    few = count // _HELD_OUT_FRACTION if count >= _MIN_TO_SPLIT else 0
    train, check = order[few:], order[:few] if few else order
    return [tuple(part[ids] for part in rows) for ids in (train, check)]
