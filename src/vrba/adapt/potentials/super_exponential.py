"""The superexponential potential: the sharpest tilt."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential, invert_slope


class SuperExponential(AbstractPotential):
    """`(exp(s**2) - 1) / 2`: the tilt `(r / T) exp((r / T)**2)`."""

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`(exp(s**2) - 1) / 2`."""
        return jnp.expm1(jnp.square(jnp.maximum(s, 0))) / 2

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s exp(s**2)`."""
        s = jnp.maximum(s, 0)
        return s * jnp.exp(jnp.square(s))

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`(s / peak) exp((s - peak) (s + peak))`."""
        s = jnp.maximum(s, 0)
        return (s / peak) * jnp.exp((s - peak) * (s + peak))

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """By root finding: `sqrt(W(2 y**2) / 2)`; JAX lacks Lambert's `W`."""
        return invert_slope(self, y)

    def degree(self) -> float | None:
        """Not a power."""
        return None

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
