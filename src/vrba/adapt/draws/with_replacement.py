"""Independent draws."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ._base import AbstractDraw
from ._blocks import block_of, make_blocks, point_of


class WithReplacement(AbstractDraw):
    """Independent draws: simple to reason about, with the most noise in the counts."""

    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """One random position for each draw, and what it holds below its last digit."""
        blocks = make_blocks(mass)
        position = jax.random.uniform(key, (num_points,), mass.dtype) * blocks.total
        block = block_of(blocks, position)
        rounding = jnp.finfo(mass.dtype).eps * blocks.total
        more = jax.random.uniform(jax.random.fold_in(key, 1), (num_points,), mass.dtype)
        return point_of(blocks, block, position, more * rounding)

    def is_proportional(self) -> bool:
        """Yes."""
        return True
