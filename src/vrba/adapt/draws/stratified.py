"""One draw from each of n equal slots of the cumulative probability."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

from ._base import AbstractDraw
from ._blocks import block_of_slots, make_blocks, point_of

PLASTIC_STEPS = (3242174889, 2447445413)  # 2**32 / p, 2**32 / p**2 with p**3 = p + 1


class Stratified(AbstractDraw):
    """Slot `j` of `n` gives one point, at a place that moves from slot to slot.

    Counts deviate far less from `n q_i` than with independent draws. The places follow
    an evenly spread sequence from a random start, so that, unlike `Systematic`, it does
    not fall into step with a pool in Sobol or grid order. Ids come in the order of the
    pool: shuffle them before cutting one draw into batches.
    """

    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Two random numbers start the sequences of places and of their next digits."""
        start = jax.random.bits(key, (2,), jnp.uint32)
        place_fn, digits_fn = (
            functools.partial(spread, start[i], step=step, dtype=mass.dtype)
            for i, step in enumerate(PLASTIC_STEPS)
        )
        blocks = make_blocks(mass)
        block = block_of_slots(blocks, num_points, place_fn)
        slot = jnp.arange(num_points, dtype=jnp.int32)
        position = slot.astype(mass.dtype) + place_fn(slot)
        unit = blocks.total / num_points
        rounding = jnp.finfo(mass.dtype).eps * blocks.total
        return point_of(blocks, block, position * unit, digits_fn(slot) * rounding)

    def is_proportional(self) -> bool:
        """Yes."""
        return True


def spread(
    start: UInt32[Array, ""], index: Int[Array, " any"], step: int, dtype: jnp.dtype
) -> Float[Array, " any"]:
    """`start + index * step` modulo `2**32`, as numbers in `[0, 1)`."""
    bits = start + index.astype(jnp.uint32) * jnp.uint32(step)
    digits = min(32, jnp.finfo(dtype).nmant)  # so that none is rounded up to one
    return (bits >> (32 - digits)).astype(dtype) * 2.0**-digits
