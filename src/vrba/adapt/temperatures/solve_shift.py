"""The exact dual: a scheduled temperature and the shift that normalises the tilt."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core import InputError, find_root
from ..potentials import AbstractPotential
from ..potentials._base import slope_at
from ._base import (
    AbstractSchedule,
    AbstractTemperature,
    Scale,
    keep_warm,
    mean_over,
    needed_by_peak,
    rescale,
    smallest_size,
)
from .log_annealing import LogAnnealing
from .solve_temperature import passes_one


class SolveShift(AbstractTemperature):
    """`nu` with `E_p[phi'((r - nu) / T)] = 1`, `T` from `schedule`: no duality gap.

    Needs slopes above one, and none that jump at zero.
    """

    schedule: AbstractSchedule = LogAnnealing()

    def check(self, potential: AbstractPotential) -> None:
        """The slope must pass one without a jump."""
        check_shift(potential, "SolveShift(...)")

    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """The tilt at the scheduled temperature with the shift that fits it."""
        self.check(potential)
        temperature = self.schedule.at(peak, count)
        return shift_to_fit(potential, size, probability, peak, temperature, count)


def check_shift(potential: AbstractPotential, caller: str) -> None:
    """Raise `ValueError`, in the caller's name, if no shift normalises the tilt."""
    if not passes_one(potential):
        raise InputError(
            f"`{caller}` has no root for {potential}: its slope never exceeds 1. Use "
            "`LogAnnealing()`."
        )
    if slope_at(potential, 0.0) > 0 and not potential.is_defined_everywhere():
        raise InputError(
            f"`{caller}` may have no root for {potential}: its slope jumps at zero. "
            "Use `LogAnnealing()`, or `Custom(..., everywhere=True)` if the "
            "potential is convex for negative sizes too."
        )


def shift_limits(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The argument of the peak if all points were alike, and if it were alone."""
    one = potential.inverse_slope(jnp.ones_like(peak))
    return one, needed_by_peak(potential, size, probability, peak)


def shift_to_fit(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
    temperature: Float[Array, ""],
    count: Int[Array, ""],
    limits: tuple[Float[Array, ""], Float[Array, ""]] | None = None,
) -> Scale:
    """The scale at `temperature` whose shift makes the mean slope one.

    The unknown is the argument of the peak, `z = (peak - nu) / T`: at least the slope
    one of all points alike, at most what the peak alone, or the lowest point, needs.
    `limits` are those two where they are known from `shift_limits`.
    """
    temperature = keep_warm(temperature, peak)
    if potential.is_shift_invariant():
        scale = rescale(potential, size, probability, peak, temperature, count)
        at_top = potential.inverse_slope(scale.top_weight)
    else:
        gap = (peak - size) / temperature
        widest = (peak - smallest_size(size, probability)) / temperature
        if limits is None:
            limits = shift_limits(potential, size, probability, peak)
        one, alone = limits
        upper = jnp.minimum(alone, one + widest)

        def excess(at_top):
            return mean_over(potential.slope(at_top - gap), probability) - 1

        if potential.is_defined_everywhere():
            at_top = find_root(excess, one, upper)
        else:  # by logarithms: for powers near one `upper` is out of all proportion
            at_top = jnp.exp(
                find_root(lambda x: excess(jnp.exp(x)), jnp.log(one), jnp.log(upper))
            )
    return rescale(potential, size, probability, peak, temperature, count, at_top)
