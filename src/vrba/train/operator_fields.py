"""Arrays of an operator's run that figures are drawn from."""

from typing import Any

import jax
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
    errors = np.sqrt(squares.mean(axis=1) / sizes)
    shown = _shown(errors)
    arrays = {
        "errors": operator.errors(pairs),
        "coordinates": np.array(pairs.names),
        "shown ids": shown,
        "shown errors": errors[shown],
        "shown inputs": inputs[shown],
        "shown outputs": found[shown],
        "shown truth": truth[shown],
    }
    if pairs.axes is None:
        arrays["places"] = np.asarray(pairs.scattered)
    else:
        arrays |= dict(zip(pairs.names, pairs.axes, strict=True))
        if _TIME in pairs.names:
            grid = squares.reshape(len(truth), *truth.shape[1:-1])
            arrays["errors over time"] = _over_time(grid, sizes, pairs)
    return arrays | _adaptivity(trainer, state)


def _squares(operator: Operator, found: np.ndarray, truth: np.ndarray) -> Any:
    """The square of the miss at each point `[funcs, points]`, and the mean square of
    each function, both as the network sees them."""
    scaling = operator.frame.scaling
    mean, std = np.asarray(scaling.output_mean), np.asarray(scaling.output_std)
    miss = np.mean(((found - truth) / std) ** 2, axis=-1, dtype=float)
    size = np.mean(((truth - mean) / std) ** 2, axis=-1, dtype=float)
    miss, size = miss.reshape(len(miss), -1), size.reshape(len(size), -1).mean(axis=1)
    return miss, np.where(size > 0, size, 1)


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
    ids = jnp.arange(num_rows, dtype=jnp.int32)
    one = lambda row: policy.weights(state, row[None])[0]
    each = jax.lax.map(one, ids[:: max(num_rows // 1000, 1)], batch_size=_CHUNK)
    return jnp.mean(each, axis=0)
