"""The paper's general case: no shift, and the temperature that normalises the tilt."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core import InputError, find_root
from ..potentials import AbstractPotential
from ..potentials._base import log_largest_argument, slope_at
from ._base import (
    AbstractTemperature,
    Scale,
    mean_over,
    needed_by_peak,
    rescale,
    smallest_size,
)


class SolveTemperature(AbstractTemperature):
    """`T` with `E_p[phi'(r / T)] = 1`: the shift zero is then the optimal one.

    Needs `phi'(0) < 1`. For powers this is the temperature at which the derived
    functional reaches the L^p norm.
    """

    def check(self, potential: AbstractPotential) -> None:
        """The slope must start below one and pass it."""
        if slope_at(potential, 0.0) >= 1:
            raise InputError(
                f"`SolveTemperature()` has no root for {potential}: it needs a slope "
                "below 1 at zero. Use `LogAnnealing()`, or `SolveShift(LogAnnealing())`"
                " unless the potential is linear."
            )
        if not passes_one(potential):
            raise InputError(
                f"`SolveTemperature()` has no root for {potential}: its slope never "
                "exceeds 1. Use `LogAnnealing()`."
            )

    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """Find `log(1 / T)` between the slopes of one point alone and of all alike."""
        self.check(potential)
        safe_peak = jnp.where(peak > 0, peak, 1)
        relative = size / safe_peak
        lowest = smallest_size(relative, probability)
        one = potential.inverse_slope(jnp.ones_like(peak))
        alone = needed_by_peak(potential, size, probability, peak)
        upper = jnp.minimum(
            jnp.log(jnp.minimum(alone, one / lowest)), log_largest_argument(peak.dtype)
        )

        def excess(log_inverse):
            slope = potential.slope(relative * jnp.exp(log_inverse))
            return mean_over(slope, probability) - 1

        log_inverse = find_root(excess, jnp.log(one), upper)
        temperature = safe_peak * jnp.exp(-log_inverse)
        return rescale(potential, size, probability, peak, temperature, count)


def passes_one(potential: AbstractPotential) -> bool:
    """Whether some slope exceeds one, so that a tilt of mean one can exist."""
    return any(slope_at(potential, 10.0**power) > 1 for power in range(-3, 10))
