"""The paper's annealing: a temperature that falls with the logarithm of the updates."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core import InputError
from ._base import AbstractSchedule


class LogAnnealing(AbstractSchedule):
    """`T_k = scale * max r / log(2 + k)` at update `k`, counted from zero.

    It bounds the ratio of exponential weights by `(2 + k)**(1 / scale)`, so it hardly
    tilts in runs of tens of updates: there use `EffectiveSize`. (Toscano et al. 2025)
    """

    scale: float = eqx.field(default=1.0, converter=float)

    def __check_init__(self):
        """The constant is a positive number."""
        if not 0 < self.scale < float("inf"):
            raise InputError(
                f"`LogAnnealing(scale=...)` must be positive, got {self.scale}."
            )

    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        """`scale * peak / log(2 + count)`."""
        return self.scale * peak / jnp.log(2 + count.astype(peak.dtype))
