"""The exponential potential: presses on the largest residual."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential


class Exponential(AbstractPotential):
    """`exp(s) - 1`, defined everywhere: the Gibbs tilt `exp(r / T)`.

    Its risk is the entropic risk `T log E exp(r / T)`, its price the relative entropy
    `y log y - y + 1`. A shift of `r` only rescales the tilt, so annealing is exact.
    """

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`exp(s) - 1`."""
        return jnp.expm1(s)

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`exp(s)`."""
        return jnp.exp(s)

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`exp(s - peak)`."""
        return jnp.exp(s - peak)

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`log y`, minus infinity at zero."""
        return jnp.log(y)

    def degree(self) -> float | None:
        """Not a power."""
        return None

    def is_defined_everywhere(self) -> bool:
        """Yes."""
        return True

    def is_shift_invariant(self) -> bool:
        """Yes."""
        return True
