"""Arrays of an operator's run that figures are drawn from."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import Hybrid
from ..data import Pairs
from .operator import Operator
from .operator_trainer import OperatorState, OperatorTrainer

_NUM_WORST = 2
_TIME = "t"
_LEVELS = (50, 95, 100)
_CHUNK = 50  # samples whose weights are read at a time


def fields_of(
    operator: Operator, trainer: OperatorTrainer, state: OperatorState, pairs: Pairs
) -> dict[str, np.ndarray]:
    """Errors of the test set, the worst of its functions, the error at each time, and
    what the policy draws and weighs."""
    inputs, truth = pairs.load("test")
    found = operator(inputs)
    squares, sizes = _squares(operator, found, truth)
    errors = operator.errors(pairs)
    shown = _shown(errors)
    arrays = {
        "errors": errors,
        "raw errors": _raw_errors(found, truth),
        "coordinates": np.array(pairs.names),
        "example ids": shown,
        "example errors": errors[shown],
        "example inputs": inputs[shown],
        "example outputs": found[shown],
        "example truth": truth[shown],
    }
    if pairs.axes is None:
        arrays["places"] = np.asarray(pairs.scattered)
    else:
        arrays |= dict(zip(pairs.names, pairs.axes, strict=True))
        if _TIME in pairs.names:
            arrays["errors over time"] = _over_time(squares, sizes, pairs)
    return arrays | _adaptivity(trainer, state)


def _squares(operator: Operator, found: np.ndarray, truth: np.ndarray) -> Any:
    """The square of the miss at each point `[funcs, points...]`, and the mean square of
    each function, both as the network sees them."""
    scaling = operator.frame.scaling
    mean, std = np.asarray(scaling.output_mean), np.asarray(scaling.output_std)
    miss = np.mean(((found - truth) / std) ** 2, axis=-1, dtype=float)
    size = np.mean(((truth - mean) / std) ** 2, axis=-1, dtype=float)
    axes = tuple(range(1, size.ndim))
    shares = 1.0 if operator.frame.shares is None else np.asarray(operator.frame.shares)
    size = np.mean(shares * size, axis=axes)
    return miss, np.where(size > 0, size, 1)


def _raw_errors(found: np.ndarray, truth: np.ndarray) -> Float[np.ndarray, " funcs"]:
    """Relative to the functions as they are, mean and all."""
    axes = tuple(range(1, truth.ndim))
    miss, size = (np.sqrt(np.sum(a**2, axis=axes)) for a in (found - truth, truth))
    return miss / np.where(size > 0, size, 1)


def _shown(errors: Float[np.ndarray, " funcs"]) -> np.ndarray:
    """The worst functions, then one that is worse than nearly all, then a usual one;
    none twice."""
    order = np.argsort(errors)[::-1]
    last = len(order) - 1
    places = [*range(_NUM_WORST), round(0.05 * last), round(0.5 * last)]
    return order[np.unique([min(place, last) for place in places])]


def _over_time(
    grid: Float[np.ndarray, "funcs *grid"],
    sizes: Float[np.ndarray, " funcs"],
    pairs: Pairs,
) -> Float[np.ndarray, "times levels"]:
    """Mean and percentiles over functions of the error at a time, relative to the size
    of the whole function."""
    axis = 1 + pairs.names.index(_TIME)
    others = tuple(k for k in range(1, grid.ndim) if k != axis)
    errors = np.sqrt(grid.mean(axis=others) / sizes[:, None])
    return np.stack([errors.mean(axis=0), *np.percentile(errors, _LEVELS, axis=0)], 1)


def _adaptivity(
    trainer: OperatorTrainer, state: OperatorState
) -> dict[str, np.ndarray]:
    """How often samples are drawn, and where they weigh, both one on average."""
    policy, num_rows = trainer.recipe.policy, trainer.train.num_rows
    found = {}
    if trainer.is_drawing:
        mass = np.asarray(policy.mass(state.policy), float)
        found["mass"] = num_rows * mass / mass.sum()
    if isinstance(policy, Hybrid):
        found["mean weight"] = np.asarray(_mean_weight(policy, state.policy, num_rows))
    return found


def _mean_weight(policy: Hybrid, state: Any, num_rows: int) -> Float[Array, "*grid"]:
    """Over all samples, some at a time: there may be many."""
    total = eqx.filter_jit(lambda ids: jnp.sum(policy.weights(state, ids), axis=0))
    ids = jnp.arange(num_rows, dtype=jnp.int32)
    parts = [total(ids[k : k + _CHUNK]) for k in range(0, num_rows, _CHUNK)]
    return sum(parts[1:], parts[0]) / num_rows
