"""A target for the effective sample size, free of the residual's scale and of k."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core import InputError, find_root
from ..potentials import AbstractPotential
from ..potentials._base import log_largest_argument
from ._base import (
    AbstractTemperature,
    Scale,
    mean_over,
    rescale,
    smallest_size,
)
from .solve_shift import check_shift, shift_limits, shift_to_fit


class EffectiveSize(AbstractTemperature):
    """`T` and `nu` with `1 / E_p[w**2] = fraction`, and no duality gap.

    The effective size grows with the temperature from the share of points that attain
    the maximum, which is the least that can be asked for, to one. Good values: 0.3 to
    0.7; smaller is sharper.
    """

    fraction: float = eqx.field(default=0.5, converter=float)

    def __check_init__(self):
        """A fraction of the points."""
        if not 0 < self.fraction <= 1:
            raise InputError(
                f"`EffectiveSize(fraction=...)` must lie in (0, 1], got "
                f"{self.fraction}."
            )

    def check(self, potential: AbstractPotential) -> None:
        """The slope must pass one without a jump."""
        check_shift(potential, "EffectiveSize(...)")

    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """Find `log(1 / T)`, in units of the spread of the sizes."""
        self.check(potential)
        lowest = smallest_size(size, probability)
        spread = jnp.where(peak > lowest, peak - lowest, 1)

        limits = shift_limits(potential, size, probability, peak)

        def fit(log_inverse):
            temperature = spread * jnp.exp(-log_inverse)
            if potential.is_shift_invariant():
                return rescale(potential, size, probability, peak, temperature, count)
            return shift_to_fit(
                potential, size, probability, peak, temperature, count, limits
            )

        def excess(log_inverse):
            weight = fit(log_inverse).relative_weight(potential, size)
            mean = mean_over(weight, probability)
            return self.fraction - mean**2 / mean_over(weight**2, probability)

        flattest = jnp.asarray(0.5 * jnp.log(jnp.finfo(size.dtype).eps), size.dtype)
        sharpest = jnp.asarray(log_largest_argument(size.dtype), size.dtype)
        return fit(find_root(excess, flattest, sharpest))
