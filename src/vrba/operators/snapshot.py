"""Arrays for the figures of an operator's run."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..adapt import AbstractPolicy
from ..data import Pairs
from .operator import Operator
from .trainer import OperatorState, OperatorTrainer

_NUM_WORST = 2
_TIME = "t"
_LEVELS = (50, 95, 100)
_SAMPLES_AT_ONCE = 50


def figure_arrays(
    operator: Operator,
    trainer: OperatorTrainer,
    state: OperatorState,
    pairs: Pairs,
    errors: Float[np.ndarray, " funcs"],
) -> dict[str, np.ndarray]:
    """Errors of the test set, example functions, errors over time, and the sampling
    mass and mean weights of the policy."""
    inputs, truth = pairs.load("test")
    found = operator(inputs)
    examples = _example_ids(errors)
    arrays = {
        "errors": errors,
        "raw errors": _raw_errors(found, truth),
        "coordinates": np.array(pairs.names),
        "example ids": examples,
        "example errors": errors[examples],
        "example inputs": inputs[examples],
        "example outputs": found[examples],
        "example truth": truth[examples],
    }
    if pairs.axes is None:
        arrays["places"] = np.asarray(pairs.scattered)
    else:
        arrays |= dict(zip(pairs.names, pairs.axes, strict=True))
        if _TIME in pairs.names:
            squares, sizes = _squared_errors(operator, found, truth)
            arrays["errors over time"] = _errors_over_time(squares, sizes, pairs)
    return arrays | _policy_arrays(trainer, state)


def _squared_errors(operator: Operator, found: np.ndarray, truth: np.ndarray) -> Any:
    """The squared error at each point `[funcs, points...]`, and the mean square of each
    function, in scaled units."""
    scaling = operator.layout.scaling
    mean, std = np.asarray(scaling.output_mean), np.asarray(scaling.output_std)
    error = np.mean(((found - truth) / std) ** 2, axis=-1, dtype=float)
    size = np.mean(((truth - mean) / std) ** 2, axis=-1, dtype=float)
    axes = tuple(range(1, size.ndim))
    quadrature = operator.layout.quadrature
    quadrature = 1.0 if quadrature is None else np.asarray(quadrature)
    size = np.mean(quadrature * size, axis=axes)
    return error, np.where(size > 0, size, 1)


def _raw_errors(found: np.ndarray, truth: np.ndarray) -> Float[np.ndarray, " funcs"]:
    """Relative L2 errors in physical units."""
    axes = tuple(range(1, truth.ndim))
    error, size = (np.sqrt(np.sum(a**2, axis=axes)) for a in (found - truth, truth))
    return error / np.where(size > 0, size, 1)


def _example_ids(errors: Float[np.ndarray, " funcs"]) -> np.ndarray:
    """The two worst functions, then those at 5 % and 50 % of the order, none twice."""
    order = np.argsort(errors)[::-1]
    last = len(order) - 1
    places = [*range(_NUM_WORST), round(0.05 * last), round(0.5 * last)]
    return order[np.unique([min(place, last) for place in places])]


def _errors_over_time(
    squares: Float[np.ndarray, "funcs *grid"],
    sizes: Float[np.ndarray, " funcs"],
    pairs: Pairs,
) -> Float[np.ndarray, "times levels"]:
    """Mean and percentiles over functions of the error at each time, relative to the
    size of the whole function."""
    axis = 1 + pairs.names.index(_TIME)
    others = tuple(k for k in range(1, squares.ndim) if k != axis)
    errors = np.sqrt(squares.mean(axis=others) / sizes[:, None])
    return np.stack([errors.mean(axis=0), *np.percentile(errors, _LEVELS, axis=0)], 1)


def _policy_arrays(
    trainer: OperatorTrainer, state: OperatorState
) -> dict[str, np.ndarray]:
    """The sampling mass of each function and the mean weights; both average to one."""
    policy, num_rows = trainer.recipe.policy, trainer.train.num_rows
    found = {}
    if policy.is_sampling() and trainer.recipe.batches.follows_policy:
        mass = np.asarray(policy.mass(state.policy), float)
        found["mass"] = num_rows * mass / mass.sum()
    if policy.has_point_weights:
        found["mean weight"] = np.asarray(_mean_weight(policy, state.policy, num_rows))
    return found


def _mean_weight(
    policy: AbstractPolicy, state: Any, num_rows: int
) -> Float[Array, "*grid"]:
    """The mean over all samples, computed in parts to save memory."""
    total = eqx.filter_jit(lambda ids: jnp.sum(policy.weights(state, ids), axis=0))
    ids = jnp.arange(num_rows, dtype=jnp.int32)
    parts = [
        total(ids[k : k + _SAMPLES_AT_ONCE])
        for k in range(0, num_rows, _SAMPLES_AT_ONCE)
    ]
    return sum(parts[1:], parts[0]) / num_rows
