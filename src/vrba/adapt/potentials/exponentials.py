"""The exponential potential, its relatives, and its mild counterpart, the logarithm."""

import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ._base import AbstractPotential, invert_slope


class Exponential(AbstractPotential):
    """`exp(s) - 1`, defined everywhere: the Gibbs tilt `exp(r / T)`.

    Its risk is the entropic risk `T log E exp(r / T)`, its price the relative entropy
    `y log y - y + 1`. A shift of `r` only rescales the tilt, so annealing is exact.
    """

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.expm1(s)

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.exp(s)

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        return jnp.exp(s - peak)

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`log y`, minus infinity at zero."""
        return jnp.log(y)

    @override
    def degree(self) -> float | None:
        return None

    @override
    def is_defined_everywhere(self) -> bool:
        return True

    @override
    def is_shift_invariant(self) -> bool:
        return True


class SuperExponential(AbstractPotential):
    """`(exp(s**2) - 1) / 2`: the sharpest tilt, `(r / T) exp((r / T)**2)`."""

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.expm1(jnp.square(jnp.maximum(s, 0))) / 2

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        s = jnp.maximum(s, 0)
        return s * jnp.exp(jnp.square(s))

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`(s / peak) exp((s - peak) (s + peak))`."""
        s = jnp.maximum(s, 0)
        return (s / peak) * jnp.exp((s - peak) * (s + peak))

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`sqrt(W(2 y**2) / 2)` by root finding: JAX lacks Lambert's `W`."""
        return invert_slope(self, y)

    @override
    def degree(self) -> float | None:
        return None

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False


class Cosh(AbstractPotential):
    """`cosh(s) - 1`: the tilt `sinh(r / T)`.

    Quadratic for small residuals, exponential for large ones.
    """

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`2 sinh(s / 2)**2`, which keeps the digits of small `s`."""
        return 2 * jnp.square(jnp.sinh(jnp.maximum(s, 0) / 2))

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.sinh(jnp.maximum(s, 0))

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`sinh(s) / sinh(peak)`, divided by the common factor `exp(peak)`."""
        s = jnp.maximum(s, 0)
        return jnp.exp(s - peak) * jnp.expm1(-2 * s) / jnp.expm1(-2 * peak)

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.arcsinh(y)

    @override
    def degree(self) -> float | None:
        return None

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False


class Logarithmic(AbstractPotential):
    """`(1 + s) log(1 + s) - s`: the mildest tilt, `log(1 + r / T)`, for noisy data."""

    @override
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The potential, by its series where the two terms cancel."""
        s = jnp.maximum(s, 0)
        small = jnp.finfo(s.dtype).eps ** 0.25
        series = s**2 * (0.5 + s * (-1 / 6 + s * (1 / 12 - s / 20)))
        return jnp.where(s < small, series, (1 + s) * jnp.log1p(s) - s)

    @override
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.log1p(jnp.maximum(s, 0))

    @override
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        return jnp.log1p(jnp.maximum(s, 0)) / jnp.log1p(peak)

    @override
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        return jnp.expm1(y)

    @override
    def degree(self) -> float | None:
        return None

    @override
    def is_defined_everywhere(self) -> bool:
        return False

    @override
    def is_shift_invariant(self) -> bool:
        return False
