"""The sigmoid linear unit."""

import jax

from ...fields import tower
from ._base import AbstractActivation, Values


class SiLU(AbstractActivation):
    """`x / (1 + exp(-x))` (Elfwing et al., 2018)."""

    def slopes(self, value: Values, order: int) -> list[Values]:
        """The first by hand, the others by differentiating."""
        share = jax.nn.sigmoid(value)
        found = [value * share]
        if order > 1:
            return found + tower(self, value, order)[1:]
        return found + [share + value * share * (1 - share)] * order
