"""The hyperbolic tangent."""

import jax.numpy as jnp

from ...fields import tower
from ._base import AbstractActivation, Values


class Tanh(AbstractActivation):
    """The hyperbolic tangent; its derivatives are polynomials of itself."""

    def slopes(self, value: Values, order: int) -> list[Values]:
        """From `tanh' = 1 - tanh**2`."""
        y = jnp.tanh(value)
        if order > 4:
            return [y, *tower(jnp.tanh, value, order)[1:]]
        square = y * y
        slope = 1 - square
        found = [y, slope]
        if order > 1:
            found.append(-2 * y * slope)
        if order > 2:
            found.append(slope * (6 * square - 2))
        if order > 3:
            found.append(8 * y * slope * (2 - 3 * square))
        return found[: order + 1]
