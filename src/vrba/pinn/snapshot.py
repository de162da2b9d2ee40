"""Arrays for the figures of a run: fields, residuals, points and weights."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..problems import EQUATIONS, Reference, inside_grid
from .evaluator import Evaluator
from .solution import Solution
from .state import TrainState
from .trainer import Trainer

_MAX_DRAWN = 5000
_MAX_POOL_POINTS = 16_384
_MAX_CALLS = 100  # a call takes a millisecond, compiling hundreds
_POINTS_PER_CALL = 8192


def figure_arrays(
    solution: Solution,
    trainer: Trainer,
    state: TrainState,
    reference: Reference | None,
) -> dict[str, np.ndarray]:
    """The solution, the reference and the residuals on a grid, the points drawn last,
    and points of the pool with their weights.

    Three arrays of names say which are coordinates, fields and residuals.
    """
    evaluator = solution.evaluator
    names = evaluator.formulation.domain.coordinates
    if reference is None:
        arrays = solution.grid()
    else:
        arrays = solution.on_axes(dict(reference.axes))
        arrays |= {f"reference {n}": v for n, v in reference.values.items()}
    lines = [arrays[name] for name in names]
    is_inside = inside_grid(evaluator.formulation.domain, lines)
    grid = np.meshgrid(*lines, indexing="ij")
    pool_size = len(trainer.pools[EQUATIONS][0])
    residuals = grid_residuals(evaluator, solution.params, grid, pool_size)
    labels = evaluator.terms[EQUATIONS].residual.labels
    for label, values in zip(labels, residuals.T, strict=True):
        values = values.reshape(is_inside.shape)
        arrays[f"residual {label}"] = np.where(is_inside, values, np.nan)
    return (
        arrays
        | _pool_weights(trainer, state)
        | {
            "drawn points": np.asarray(_batch(trainer, state)),
            "coordinates": np.array(names),
            "fields": np.array(solution.problem.fields),
            "residuals": np.array(labels),
        }
    )


def grid_residuals(
    evaluator: Evaluator, params: object, grid: Sequence[np.ndarray], pool_size: int
) -> np.ndarray:
    """The residuals at all points of a grid.

    A call takes as many points as the pool has, which is compiled already. A small pool
    would need many calls: then another size is compiled.
    """
    points = np.stack([np.ravel(part) for part in grid], axis=1)
    dtype = evaluator.dtype
    size = pool_size if len(points) <= _MAX_CALLS * pool_size else _POINTS_PER_CALL
    missing = -len(points) % size
    padded = np.concatenate([points, np.repeat(points[:1], missing, axis=0)])
    values = jnp.zeros((size, 0), dtype)
    found = []
    for part in padded.reshape(-1, size, points.shape[1]):
        rows = jnp.asarray(part, dtype), values
        found.append(np.asarray(evaluator.residual(params, EQUATIONS, rows)))
    return np.concatenate(found)[: len(points)]


def drawn_points(trainer: Trainer, state: TrainState) -> np.ndarray:
    """At most 5,000 of the points drawn last for the equations."""
    points = _batch(trainer, state)
    return np.asarray(points[_spread_ids(len(points), _MAX_DRAWN)])


def _batch(trainer: Trainer, state: TrainState) -> Float[Array, "points dim"]:
    return trainer.pools[EQUATIONS][0][state.ids[EQUATIONS]]


def _pool_weights(trainer: Trainer, state: TrainState) -> dict[str, np.ndarray]:
    """Points of the pool, and their tilt relative to the base distribution."""
    policy, policy_state = trainer.policies[EQUATIONS], state.policies[EQUATIONS]
    some = _spread_ids(len(trainer.pools[EQUATIONS][0]), _MAX_POOL_POINTS)
    rows = jax.tree.map(lambda leaf: leaf[some], trainer.pools[EQUATIONS])
    base = policy.base(policy_state)[some]
    weights = policy.tilt(policy_state)[some] / jnp.where(base > 0, base, 1)
    return {"pool points": np.asarray(rows[0]), "pool weights": np.asarray(weights)}


def _spread_ids(count: int, limit: int) -> np.ndarray:
    """At most `limit` ids, equally spaced."""
    return np.linspace(0, count - 1, min(count, limit)).astype(int)
