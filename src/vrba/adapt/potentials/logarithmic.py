"""The logarithmic potential: the gentlest tilt, for noisy data and outliers."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential


class Logarithmic(AbstractPotential):
    """`(1 + s) log(1 + s) - s`: the tilt `log(1 + r / T)`."""

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`(1 + s) log(1 + s) - s`, by its series where the two terms cancel."""
        s = jnp.maximum(s, 0)
        small = jnp.finfo(s.dtype).eps ** 0.25
        series = s**2 * (0.5 + s * (-1 / 6 + s * (1 / 12 - s / 20)))
        return jnp.where(s < small, series, (1 + s) * jnp.log1p(s) - s)

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`log(1 + s)`."""
        return jnp.log1p(jnp.maximum(s, 0))

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`log(1 + s) / log(1 + peak)`."""
        return jnp.log1p(jnp.maximum(s, 0)) / jnp.log1p(peak)

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`exp(y) - 1`."""
        return jnp.expm1(y)

    def degree(self) -> float | None:
        """Not a power."""
        return None

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
