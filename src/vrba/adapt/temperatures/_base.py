"""How a potential becomes a distribution: temperature, shift and normaliser."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..potentials import AbstractPotential
from ..potentials._base import log_largest_argument


class Scale(eqx.Module):
    """All that links one point's size to its tilt, so that any batch can share it.

    `w(r) = top_weight * phi'(s(r)) / phi'(s(peak))` with
    `s(r) = offset + (r - anchor) / temperature`. The anchor is zero or the peak,
    whichever loses no digits; `count` is the number of updates before this scale.
    """

    temperature: Float[Array, "*tilts"]
    anchor: Float[Array, "*tilts"]
    offset: Float[Array, "*tilts"]
    peak: Float[Array, "*tilts"]  # the largest size
    top_weight: Float[Array, "*tilts"]  # the weight of the largest size
    count: Int[Array, "*tilts"]

    @property
    def shift(self) -> Float[Array, "*tilts"]:
        """The `nu` of `s(r) = (r - nu) / temperature`."""
        return self.anchor - self.temperature * self.offset

    def argument(self, size: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s(r)`, what the potential is applied to."""
        return self.offset + (size - self.anchor) / self.temperature

    def relative_weight(
        self, potential: AbstractPotential, size: Float[Array, "*any"]
    ) -> Float[Array, "*any"]:
        """`w(r) / top_weight`: one from the peak on, and where all sizes are zero."""
        top = self.argument(self.peak)
        relative = jnp.minimum(potential.relative_slope(self.argument(size), top), 1)
        return jnp.where(self.peak > 0, relative, 1)


class AbstractTemperature(eqx.Module):
    """A way to normalise the tilt so that its mean over the base is one."""

    @abc.abstractmethod
    def check(self, potential: AbstractPotential) -> None:
        """Raise `ValueError` if this normalisation has no root for the potential."""

    @abc.abstractmethod
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """The scale of the tilt of `size`, the largest of which is `peak`.

        `probability` is the base, `None` the uniform one; points of probability zero
        do not count.
        """


class AbstractSchedule(AbstractTemperature):
    """A temperature known beforehand; the tilt is rescaled to mean one.

    Exact for the exponential; the other potentials pay a duality gap, which
    `duality` reports and `SolveShift(schedule)` removes.
    """

    @abc.abstractmethod
    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of update `count` when the largest size is `peak`."""

    def check(self, potential: AbstractPotential) -> None:
        """Any potential can be rescaled."""

    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """The tilt at the scheduled temperature, rescaled to mean one."""
        return rescale(potential, size, probability, peak, self.at(peak, count), count)


def mean_over(
    x: Float[Array, " points"], probability: Float[Array, " points"] | None
) -> Float[Array, ""]:
    """`E_p[x]`; without a probability, over the uniform base."""
    return jnp.mean(x) if probability is None else jnp.sum(probability * x)


def smallest_size(
    size: Float[Array, " points"], probability: Float[Array, " points"] | None
) -> Float[Array, ""]:
    """The smallest size among the points that count."""
    if probability is None:
        return jnp.min(size)
    return jnp.min(jnp.where(probability > 0, size, jnp.inf))


def needed_by_peak(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
) -> Float[Array, ""]:
    """The argument at which the largest size alone brings the mean slope to one."""
    share = mean_over((size == peak).astype(size.dtype), probability)
    return potential.inverse_slope(1 / jnp.where(share > 0, share, 1))


def largest_argument(dtype: jnp.dtype) -> Float[Array, ""]:
    """The largest `size / temperature` that potentials are asked to bear."""
    return jnp.exp(jnp.asarray(log_largest_argument(dtype), dtype))


def keep_warm(
    temperature: Float[Array, ""], peak: Float[Array, ""]
) -> Float[Array, ""]:
    """A temperature that keeps `peak / temperature` finite; colder, nothing changes."""
    coldest = peak / largest_argument(peak.dtype)
    temperature = jnp.maximum(temperature, coldest)
    return jnp.where(temperature > 0, temperature, 1)


def rescale(
    potential: AbstractPotential,
    size: Float[Array, " points"],
    probability: Float[Array, " points"] | None,
    peak: Float[Array, ""],
    temperature: Float[Array, ""],
    count: Int[Array, ""],
    at_peak: Float[Array, ""] | None = None,
) -> Scale:
    """The scale of the tilt at a given temperature, divided by its mean.

    `at_peak` is the argument of the largest size. Without it the shift is zero, or, for
    a potential that does not mind, such that only differences from the peak enter.
    """
    zero = jnp.zeros_like(peak)
    temperature = keep_warm(temperature, peak)
    if at_peak is None and potential.is_shift_invariant():
        at_peak = zero
    if at_peak is None:  # hotter, the arguments vanish and the tilt has its limit
        hottest = jnp.where(peak > 0, peak * largest_argument(peak.dtype), temperature)
        temperature = jnp.minimum(temperature, hottest)
    scale = Scale(
        temperature=temperature,
        anchor=zero if at_peak is None else peak,
        offset=zero if at_peak is None else at_peak,
        peak=peak,
        top_weight=jnp.ones_like(peak),
        count=count,
    )
    mean = mean_over(scale.relative_weight(potential, size), probability)
    top_weight = 1 / jnp.where(mean > 0, mean, 1)
    return eqx.tree_at(lambda scale: scale.top_weight, scale, top_weight)
