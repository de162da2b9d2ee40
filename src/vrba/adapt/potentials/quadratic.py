"""The quadratic potential: presses on the mean square of the residual."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential


class Quadratic(AbstractPotential):
    """`s**2`: a tilt proportional to the residual, as in RBA and RAD with `k = 1`."""

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s**2`."""
        return jnp.square(jnp.maximum(s, 0))

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`2 s`."""
        return 2 * jnp.maximum(s, 0)

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`s / peak`."""
        return jnp.maximum(s, 0) / peak

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`y / 2`."""
        return y / 2

    def degree(self) -> float | None:
        """2."""
        return 2.0

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
