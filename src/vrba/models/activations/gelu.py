"""The Gaussian error linear unit."""

import math

import jax
import jax.numpy as jnp

from ...fields import tower
from ._base import AbstractActivation, Values


class GELU(AbstractActivation):
    """`x Phi(x)`, with the normal distribution function `Phi` (Hendrycks, Gimpel 2016).

    By `erf`, not by the approximation with `tanh`.
    """

    def slopes(self, value: Values, order: int) -> list[Values]:
        """From `Phi' = phi` and `phi' = -x phi`."""
        share = (1 + jax.lax.erf(value * math.sqrt(0.5))) / 2
        if order == 0:
            return [value * share]
        if order > 4:
            return [value * share, *tower(self, value, order)[1:]]
        square = value * value
        density = jnp.exp(-square / 2) / math.sqrt(2 * math.pi)
        found = [value * share, share + value * density]
        if order > 1:
            found.append((2 - square) * density)
        if order > 2:
            found.append((square - 4) * value * density)
        if order > 3:
            found.append((7 * square - square * square - 4) * density)
        return found
