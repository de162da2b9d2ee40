"""The linear potential: no adaptivity."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractPotential


class Linear(AbstractPotential):
    """`s`: every point weighs the same and the risk is the mean residual size."""

    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s`."""
        return jnp.maximum(s, 0)

    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """One from zero on."""
        return jnp.where(s < 0, 0, jnp.ones_like(s))

    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """One from zero on."""
        del peak
        return self.slope(s)

    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """Zero up to slope one; no residual reaches more."""
        return jnp.where(y > 1, jnp.inf, jnp.zeros_like(y))

    def degree(self) -> float | None:
        """1."""
        return 1.0

    def is_defined_everywhere(self) -> bool:
        """No."""
        return False

    def is_shift_invariant(self) -> bool:
        """No."""
        return False
