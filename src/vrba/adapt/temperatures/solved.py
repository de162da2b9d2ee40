"""Temperatures and shifts found by solving for a tilt of mean one: no duality gap."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int
from typing_extensions import override

from ...core import InputError, find_root
from .._inputs import log_largest_argument
from ..potentials import AbstractPotential
from ..potentials._base import slope_at
from ._base import (
    AbstractSchedule,
    AbstractTemperature,
    LogAnnealing,
    Scale,
    bound_below,
    mean_over,
    rescale,
)


class SolveTemperature(AbstractTemperature):
    """`T` with `E_p[phi'(r / T)] = 1`: the optimal shift is then zero.

    Needs `phi'(0) < 1`. For powers this is the temperature at which the derived
    functional reaches the L^p norm. (the paper's general case)
    """

    @override
    def check(self, potential: AbstractPotential) -> None:
        if is_traced(potential):
            return
        if slope_at(potential, 0.0) >= 1:
            raise InputError(
                f"`SolveTemperature()` has no root for {potential}: it needs a slope "
                "below 1 at zero. Use `LogAnnealing()`, or `SolveShift(LogAnnealing())`"
                " unless the potential is linear."
            )
        if not exceeds_one(potential):
            raise InputError(
                f"`SolveTemperature()` has no root for {potential}: its slope never "
                "exceeds 1. Use `LogAnnealing()`."
            )

    @override
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """Solve for `log(1 / T)`.

        The bracket: the root for equal sizes, and the root if only the peak counted.
        """
        self.check(potential)
        safe_peak = jnp.where(peak > 0, peak, 1)
        relative = size / safe_peak
        lowest = smallest_size(relative, probability)
        equal, alone = peak_arguments(potential, size, probability, peak)
        upper = jnp.minimum(
            jnp.log(jnp.minimum(alone, equal / lowest)),
            log_largest_argument(peak.dtype),
        )

        def excess(log_inverse):
            slope = potential.slope(relative * jnp.exp(log_inverse))
            return mean_over(slope, probability) - 1

        log_inverse = find_root(excess, jnp.log(equal), upper)
        temperature = safe_peak * jnp.exp(-log_inverse)
        return rescale(potential, size, probability, peak, temperature, count)


class SolveShift(AbstractTemperature):
    """`nu` with `E_p[phi'((r - nu) / T)] = 1`, and `T` from `schedule`: the exact dual.

    Needs slopes above one, without a jump at zero.
    """

    schedule: AbstractSchedule = LogAnnealing()

    @override
    def check(self, potential: AbstractPotential) -> None:
        check_shift(potential, "SolveShift(...)")

    @override
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        self.check(potential)
        temperature = self.schedule.at(peak, count)
        return solve_shift(potential, size, probability, peak, temperature, count)


class EffectiveSize(AbstractTemperature):
    """`T` and `nu` with an effective sample size `1 / E_p[w**2] = fraction`.

    The effective size grows with the temperature, up to one. Its lower limit is the
    share of points that attain the maximum. It depends neither on the residual's units
    nor on the number of updates. Good values: 0.3 to 0.7; smaller is sharper.
    """

    fraction: float = eqx.field(default=0.5, converter=float, static=True)

    def __check_init__(self):
        if not 0 < self.fraction <= 1:
            raise InputError(
                f"`EffectiveSize(fraction=...)` must lie in (0, 1], got "
                f"{self.fraction}."
            )

    @override
    def check(self, potential: AbstractPotential) -> None:
        check_shift(potential, "EffectiveSize(...)")

    @override
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """Solve for `log(1 / T)`, in units of the spread of the sizes."""
        self.check(potential)
        lowest = smallest_size(size, probability)
        spread = jnp.where(peak > lowest, peak - lowest, 1)
        limits = peak_arguments(potential, size, probability, peak)

        def scale_at(log_inverse):
            temperature = spread * jnp.exp(-log_inverse)
            if potential.is_shift_invariant():
                return rescale(potential, size, probability, peak, temperature, count)
            return solve_shift(
                potential, size, probability, peak, temperature, count, limits
            )

        def excess(log_inverse):
            weight = scale_at(log_inverse).relative_weight(potential, size)
            mean = mean_over(weight, probability)
            return self.fraction - mean**2 / mean_over(weight**2, probability)

        flattest = jnp.full_like(peak, 0.5 * jnp.log(jnp.finfo(size.dtype).eps))
        sharpest = jnp.full_like(peak, log_largest_argument(size.dtype))
        return scale_at(find_root(excess, flattest, sharpest))


def is_traced(potential: AbstractPotential) -> bool:
    """Whether a setting of a user's potential is traced: its checks need numbers."""
    return any(isinstance(x, Tracer) for x in jax.tree.leaves(potential))


def exceeds_one(potential: AbstractPotential) -> bool:
    """Whether some slope exceeds one, so that a tilt of mean one can exist."""
    with jax.ensure_compile_time_eval():
        sizes = jnp.asarray([10.0**power for power in range(-3, 10)])
        return bool(jnp.any(potential.slope(sizes) > 1))


def check_shift(potential: AbstractPotential, caller: str) -> None:
    """Raise `InputError`, naming the caller, if no shift normalises the tilt."""
    if is_traced(potential):
        return
    if not exceeds_one(potential):
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


def smallest_size(
    size: Float[Array, " points"], probability: Float[Array, " points"] | None
) -> Float[Array, ""]:
    """The smallest size among points of positive probability."""
    if probability is None:
        return jnp.min(size)
    return jnp.min(jnp.where(probability > 0, size, jnp.inf))


def peak_arguments(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The argument of the peak for a tilt of mean one, in two limits.

    If all sizes were equal, and if all others had slope zero.
    """
    equal = potential.inverse_slope(jnp.ones_like(peak))
    share = mean_over((size == peak).astype(size.dtype), probability)
    return equal, potential.inverse_slope(1 / jnp.where(share > 0, share, 1))


def solve_shift(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
    temperature: Float[Array, ""],
    count: Int[Array, ""],
    limits: tuple[Float[Array, ""], Float[Array, ""]] | None = None,
) -> Scale:
    """The scale at `temperature` whose shift makes the mean slope one.

    The unknown is the argument of the peak, `z = (peak - nu) / T`. The two limits of
    `peak_arguments` bound it; pass them as `limits` if they are known.
    """
    temperature = bound_below(temperature, peak)
    if potential.is_shift_invariant():
        scale = rescale(potential, size, probability, peak, temperature, count)
        at_top = potential.inverse_slope(scale.top_weight)
    else:
        gap = (peak - size) / temperature
        widest = (peak - smallest_size(size, probability)) / temperature
        if limits is None:
            limits = peak_arguments(potential, size, probability, peak)
        equal, alone = limits
        upper = jnp.minimum(alone, equal + widest)

        def excess(at_top):
            return mean_over(potential.slope(at_top - gap), probability) - 1

        if potential.is_defined_everywhere():
            at_top = find_root(excess, equal, upper)
        else:  # in logarithms: for powers near one `upper` may be huge
            at_top = jnp.exp(
                find_root(lambda x: excess(jnp.exp(x)), jnp.log(equal), jnp.log(upper))
            )
    return rescale(potential, size, probability, peak, temperature, count, at_top)
