"""The sine."""

import jax.numpy as jnp

from ._base import AbstractActivation, Values


class Sine(AbstractActivation):
    """The sine."""

    def slopes(self, value: Values, order: int) -> list[Values]:
        """Sine and cosine in turn."""
        sine, cosine = jnp.sin(value), jnp.cos(value)
        turn = [sine, cosine, -sine, -cosine]
        return [turn[k % 4] for k in range(order + 1)]
