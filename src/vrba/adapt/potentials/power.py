"""The power potential: presses on the mean of a power of the residual."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import InputError
from ._base import AbstractPotential


class Power(AbstractPotential):
    """`s**exponent`: the tilt `r**(exponent - 1)`, the L^p norm with `p = exponent`."""

    exponent: float = eqx.field(default=3.0, converter=float)

    def __check_init__(self):
        """A power must exceed one to be superlinear."""
        if not 1 < self.exponent < float("inf"):
            raise InputError(
                f"`Power(exponent=...)` must be finite and exceed 1, got "
                f"{self.exponent}; for no adaptivity use `Linear()`."
            )

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s**p`."""
        return jnp.maximum(s, 0) ** self.exponent

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`p s**(p - 1)`."""
        return self.exponent * jnp.maximum(s, 0) ** (self.exponent - 1)

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`(s / peak)**(p - 1)`."""
        return (jnp.maximum(s, 0) / peak) ** (self.exponent - 1)

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`(y / p)**(1 / (p - 1))`."""
        return (y / self.exponent) ** (1 / (self.exponent - 1))

    def degree(self) -> float | None:
        """`p`."""
        return self.exponent

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
