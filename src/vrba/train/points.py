"""Points to train on, and others that are held out."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problems import EQUATIONS, Residual
from .recipe import Recipe

Rows = tuple[Float[Array, "points dim"], Float[Array, "points numbers"]]
HeldOut = tuple[Float[Array, "held_out dim"], Float[Array, "held_out numbers"]]


def sample_term(
    residual: Residual, recipe: Recipe, seeds: Any, dtype: Any
) -> tuple[Rows, HeldOut]:
    """The pool of a term and its held-out points, on the device, with the condition's
    numbers at each."""
    pool, fresh = _sizes(residual, recipe)
    available = residual.num_available
    if available is None:
        pairs = zip((pool, fresh), seeds, strict=True)
        both = tuple(residual.sample(n, seed=int(seed)) for n, seed in pairs)
    else:
        both = _shared(residual, pool, fresh, available, int(seeds[0]))
    return jax.tree.map(lambda part: jnp.asarray(part, dtype), both)


def _sizes(residual: Residual, recipe: Recipe) -> tuple[int, int]:
    """How many points the pool and the held-out set have."""
    if residual.name is None:
        return recipe.pool_size, recipe.num_held_out
    condition = residual.formulation.conditions[residual.name]
    count = condition.soft.num_points or recipe.num_condition_points
    return 8 * count, 2 * count


def _shared(
    residual: Residual, pool: int, fresh: int, available: int, seed: int
) -> Any:
    """Where there are finitely many points, at most a fifth of them is held out."""
    if available < 2:
        raise ValueError(
            f"`{residual.name or EQUATIONS}` has {available} points; at least 2 are "
            "needed, one of them to be held out."
        )
    fresh = min(fresh, max(available // 5, 1))
    pool = min(pool, available - fresh)
    points, numbers = residual.sample(pool + fresh, seed=seed)
    return (points[:pool], numbers[:pool]), (points[pool:], numbers[pool:])
