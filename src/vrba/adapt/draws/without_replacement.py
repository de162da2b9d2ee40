"""Draws that never repeat a point."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ._base import AbstractDraw


class WithoutReplacement(AbstractDraw):
    """Successive draws, each from the points left over: no point comes twice.

    The first is drawn in proportion to the mass; heavy points then come less often than
    `n q_i`, which no draw without repeats can avoid once `n q_i > 1`. The points with
    the largest `log mass + Gumbel noise` are taken (Efraimidis and Spirakis 2006).
    """

    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Take the largest; in float32, where selecting is fast and digits suffice."""
        if num_points > mass.size:
            raise ValueError(
                f"`num_points={num_points}` draws without replacement need as many "
                f"points, but there are {mass.size}."
            )
        share = (mass / jnp.max(mass)).astype(jnp.float32)
        noise = jax.random.gumbel(key, mass.shape, jnp.float32, mode="high")
        return jax.lax.top_k(jnp.log(share) + noise, num_points)[1].astype(jnp.int32)

    def is_proportional(self) -> bool:
        """No: heavy points come less often."""
        return False
