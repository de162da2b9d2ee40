"""What a run leaves for figures: fields, residuals and weights as arrays."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..problems import EQUATIONS, Reference, inside_grid
from .solution import Solution
from .state import TrainState
from .trainer import Trainer

_MOST_DRAWN = 5000
_MOST_OF_POOL = 16_384
_MOST_CALLS = 100  # of a program: each costs a millisecond, another program hundreds
_AT_ONCE = 8192


def snapshot(
    solution: Solution, state: TrainState, reference: Reference | None
) -> dict[str, np.ndarray]:
    """The solution on a grid, the reference and the residuals there, the points drawn
    last, and points of the pool with their weights; which arrays are coordinates,
    fields and residuals is said by name."""
    trainer = solution.trainer
    names = trainer.formulation.domain.coordinates
    if reference is None:
        arrays = solution.grid()
    else:
        arrays = solution.on_axes(dict(reference.axes))
        arrays |= {f"reference {n}": v for n, v in reference.values.items()}
    lines = [arrays[name] for name in names]
    is_inside = inside_grid(trainer.formulation.domain, lines)
    residuals = _residuals(solution, np.meshgrid(*lines, indexing="ij"))
    labels = trainer.terms[EQUATIONS].residual.labels
    for label, values in zip(labels, residuals.T, strict=True):
        grid = values.reshape(is_inside.shape)
        arrays[f"residual {label}"] = np.where(is_inside, grid, np.nan)
    return (
        arrays
        | _of_pool(trainer, state)
        | {
            "drawn points": np.asarray(_batch(trainer, state)),
            "coordinates": np.array(names),
            "fields": np.array(solution.problem.fields),
            "residuals": np.array(labels),
        }
    )


def _residuals(solution: Solution, grid: Sequence[np.ndarray]) -> np.ndarray:
    """At all points of the grid, as many at a time as the pool has: for these the
    program is compiled already. If that were many times, another one pays."""
    trainer = solution.trainer
    points = np.stack([np.ravel(part) for part in grid], axis=1)
    size, dtype = len(trainer.pools[EQUATIONS][0]), trainer.recipe.dtype
    size = size if len(points) <= _MOST_CALLS * size else _AT_ONCE
    missing = -len(points) % size
    padded = np.concatenate([points, np.repeat(points[:1], missing, axis=0)])
    values = jnp.zeros((size, 0), dtype)
    found = []
    for part in padded.reshape(-1, size, points.shape[1]):
        rows = jnp.asarray(part, dtype), values
        found.append(np.asarray(trainer.residual(solution.params, EQUATIONS, rows)))
    return np.concatenate(found)[: len(points)]


def drawn(trainer: Trainer, state: TrainState) -> np.ndarray:
    """The points for the equations that were drawn last, or 5,000 of them."""
    points = _batch(trainer, state)
    return np.asarray(points[_some(len(points), _MOST_DRAWN)])


def _batch(trainer: Trainer, state: TrainState) -> Float[Array, "points dim"]:
    return trainer.pools[EQUATIONS][0][state.ids[EQUATIONS]]


def _of_pool(trainer: Trainer, state: TrainState) -> dict[str, np.ndarray]:
    """Points of the pool, and their tilt against the base."""
    policy, policy_state = trainer.policies[EQUATIONS], state.policies[EQUATIONS]
    some = _some(len(trainer.pools[EQUATIONS][0]), _MOST_OF_POOL)
    rows = jax.tree.map(lambda leaf: leaf[some], trainer.pools[EQUATIONS])
    base = policy.base(policy_state)[some]
    weights = policy.tilt(policy_state)[some] / jnp.where(base > 0, base, 1)
    return {"pool points": np.asarray(rows[0]), "pool weights": np.asarray(weights)}


def _some(count: int, most: int) -> np.ndarray:
    """Evenly spaced places, at most so many."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)
