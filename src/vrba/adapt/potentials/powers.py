"""Powers of the residual: linear (no adaptivity), quadratic, and any exponent."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError
from ._base import AbstractPotential


class Linear(AbstractPotential):
    """`s`: no adaptivity. All weights are equal; the risk is the mean residual size."""

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.maximum(s, 0)

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.where(s < 0, 0, jnp.ones_like(s))

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        del peak
        return self.slope(s)

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """Zero for `y <= 1`, infinite above."""
        return jnp.where(y > 1, jnp.inf, jnp.zeros_like(y))

    @override
    def degree(self) -> float | None:
        return 1.0

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False


class Quadratic(AbstractPotential):
    """`s**2`: a tilt proportional to the residual, as in RBA and RAD with `k = 1`."""

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.square(jnp.maximum(s, 0))

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return 2 * jnp.maximum(s, 0)

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        return jnp.maximum(s, 0) / peak

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return y / 2

    @override
    def degree(self) -> float | None:
        return 2.0

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False


class Power(AbstractPotential):
    """`s**exponent`: the tilt `r**(exponent - 1)`, the L^p norm with `p = exponent`."""

    exponent: float = eqx.field(default=3.0, converter=float, static=True)

    def __check_init__(self):
        if not 1 < self.exponent < float("inf"):
            raise InputError(
                f"`Power(exponent=...)` must be finite and greater than 1, got "
                f"{self.exponent}. For no adaptivity use `Linear()`."
            )

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.maximum(s, 0) ** self.exponent

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return self.exponent * jnp.maximum(s, 0) ** (self.exponent - 1)

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        return (jnp.maximum(s, 0) / peak) ** (self.exponent - 1)

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return (y / self.exponent) ** (1 / (self.exponent - 1))

    @override
    def degree(self) -> float | None:
        return self.exponent

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False
