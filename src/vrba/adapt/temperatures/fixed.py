"""A temperature in the units of the residual that never changes."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core import InputError
from ._base import AbstractSchedule


class Fixed(AbstractSchedule):
    """`T = value`. Powers do not feel it: their tilt has no scale."""

    value: float = eqx.field(default=1.0, converter=float)

    def __check_init__(self):
        """A temperature is a positive number."""
        if not 0 < self.value < float("inf"):
            raise InputError(f"`Fixed(value=...)` must be positive, got {self.value}.")

    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        """`value`."""
        del count
        return jnp.full_like(peak, min(self.value, float(jnp.finfo(peak.dtype).max)))
