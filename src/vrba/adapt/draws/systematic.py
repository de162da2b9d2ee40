"""Equally spaced positions with one random start."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ._base import AbstractDraw
from ._blocks import block_of_slots, make_blocks, point_of


class Systematic(AbstractDraw):
    """Positions `(j + u) / n`: point `i` comes `floor(n q_i)` or `ceil(n q_i)` times.

    The least noise in the counts. Shuffle the pool first: from a pool in Sobol order
    the fixed stride picks points that share their leading digits. In float32 and beyond
    a million points `Stratified` keeps the probabilities better. Ids come in the order
    of the pool.
    """

    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """One random number shifts all positions."""
        blocks = make_blocks(mass)
        start = jax.random.uniform(key, (), mass.dtype)
        block = block_of_slots(
            blocks, num_points, lambda slot: jnp.broadcast_to(start, slot.shape)
        )
        position = jnp.arange(num_points, dtype=mass.dtype) + start
        return point_of(blocks, block, position * (blocks.total / num_points))

    def is_proportional(self) -> bool:
        """Yes."""
        return True
