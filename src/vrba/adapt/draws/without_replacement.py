"""Draws that never repeat a point."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ...core import InputError
from ._base import AbstractDraw

_ONE_WORD = 2**16  # points up to which 32 random bits for each suffice


class WithoutReplacement(AbstractDraw):
    """Successive draws, each from the points left over: no point comes twice.

    The first is drawn in proportion to the mass; heavy points then come less often than
    `n q_i`, which no draw without repeats can avoid once `n q_i > 1`. The points that
    have the largest `mass / E` are taken, `E` exponential: those that come first if
    each waits a time `E / mass` (Efraimidis and Spirakis 2006).
    """

    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Take the largest; in float32, where selecting is fast and digits suffice."""
        if num_points > mass.size:
            raise InputError(
                f"`num_points={num_points}` draws without replacement need as many "
                f"points, but there are {mass.size}."
            )
        share = (mass / jnp.max(mass)).astype(jnp.float32)
        time = exponential(mass.size, key=key)
        return jax.lax.top_k(share / time, num_points)[1].astype(jnp.int32)

    def is_proportional(self) -> bool:
        """No: heavy points come less often."""
        return False


def exponential(num_points: int, *, key: Key[Array, ""]) -> Float[Array, " points"]:
    """`-log(1 - u)`, with digits near zero, where the shortest of many times lie.

    `u` has 32 digits, of which a float keeps the first that are not zero; 64 if there
    are so many points that the shortest times would share them.
    """
    num_words = 1 if num_points <= _ONE_WORD else 2
    words = jax.random.bits(key, (num_words, num_points), jnp.uint32)
    below = jnp.asarray(0.5, jnp.float32)
    if num_words == 2:
        below = (words[1].astype(jnp.float32) + below) * 2.0**-32
    uniform = (words[0].astype(jnp.float32) + below) * 2.0**-32
    largest = 1 - jnp.finfo(jnp.float32).epsneg
    return -jnp.log1p(-jnp.minimum(uniform, largest))
