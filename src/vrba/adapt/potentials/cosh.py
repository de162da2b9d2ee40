"""The hyperbolic cosine: quadratic for small residuals, exponential for large ones."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential


class Cosh(AbstractPotential):
    """`cosh(s) - 1`: the tilt `sinh(r / T)`."""

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`cosh(s) - 1`, written `2 sinh(s / 2)**2` to keep the digits of small `s`."""
        return 2 * jnp.square(jnp.sinh(jnp.maximum(s, 0) / 2))

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`sinh(s)`."""
        return jnp.sinh(jnp.maximum(s, 0))

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`sinh(s) / sinh(peak)` with the common growth `exp(peak)` taken out."""
        s = jnp.maximum(s, 0)
        return jnp.exp(s - peak) * jnp.expm1(-2 * s) / jnp.expm1(-2 * peak)

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`arcsinh(y)`."""
        return jnp.arcsinh(y)

    def degree(self) -> float | None:
        """Not a power."""
        return None

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
