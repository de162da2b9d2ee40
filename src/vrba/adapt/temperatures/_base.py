"""The interface of a temperature, the scale of a tilt, and scheduled temperatures."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from typing_extensions import override

from ...core import InputError
from .._inputs import log_largest_argument
from ..potentials import AbstractPotential


class Scale(NamedTuple):
    """Links a point's residual size to its tilt; batches can share it.

    `w(r) = top_weight * phi'(s(r)) / phi'(s(peak))` with
    `s(r) = offset + (r - anchor) / temperature`. The anchor is zero or the peak,
    whichever loses no digits. `num_updates` counts the updates before this scale.
    """

    temperature: Float[Array, "*tilts"]
    anchor: Float[Array, "*tilts"]
    offset: Float[Array, "*tilts"]
    peak: Float[Array, "*tilts"]  # the largest size
    top_weight: Float[Array, "*tilts"]  # the weight of the largest size
    num_updates: Int[Array, "*tilts"]

    @property
    def shift(self) -> Float[Array, "*tilts"]:
        """The `nu` of `s(r) = (r - nu) / temperature`."""
        return self.anchor - self.temperature * self.offset

    def argument(self, size: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`s(r)`, the argument of the potential."""
        return self.offset + (size - self.anchor) / self.temperature

    def relative_weight(
        self, potential: AbstractPotential, size: Float[Array, "*any"]
    ) -> Float[Array, "*any"]:
        """`w(r) / top_weight`; one for `r >= peak`, and if all sizes are zero."""
        top = self.argument(self.peak)
        relative = jnp.minimum(potential.relative_slope(self.argument(size), top), 1)
        return jnp.where(self.peak > 0, relative, 1)


class AbstractTemperature(eqx.Module):
    """A way to normalise the tilt so that its mean over the base is one."""

    @abc.abstractmethod
    def check(self, potential: AbstractPotential) -> None:
        """Raise `InputError` if this normalisation has no root for the potential."""

    @abc.abstractmethod
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        """Return the scale of the tilt of `size`, whose maximum is `peak`.

        `probability` is the base, `None` the uniform one. Points of probability zero
        are ignored. `count` is the number of earlier updates.
        """


class AbstractSchedule(AbstractTemperature):
    """A temperature known before the sizes; the tilt is rescaled to mean one.

    Rescaling is exact for the exponential. The other potentials have a duality gap,
    which `duality` reports and `SolveShift(schedule)` removes.
    """

    @abc.abstractmethod
    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of update `count` if the largest size is `peak`."""

    @override
    def check(self, potential: AbstractPotential) -> None:
        """Accept every potential: rescaling needs no root."""

    @override
    def measure(
        self,
        potential: AbstractPotential,
        size: Float[Array, " points"],
        probability: Float[Array, " points"] | None,
        peak: Float[Array, ""],
        count: Int[Array, ""],
    ) -> Scale:
        return rescale(potential, size, probability, peak, self.at(peak, count), count)


class Fixed(AbstractSchedule):
    """`T = value`, in the units of the residual. Powers do not depend on it."""

    value: float = eqx.field(default=1.0, converter=float, static=True)

    def __check_init__(self):
        if not 0 < self.value < float("inf"):
            raise InputError(f"`Fixed(value=...)` must be positive, got {self.value}.")

    @override
    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        del count
        return jnp.full_like(peak, min(self.value, float(jnp.finfo(peak.dtype).max)))


class LogAnnealing(AbstractSchedule):
    """`T_k = scale * max r / log(2 + k)` at update `k`, counted from zero.

    The ratio of exponential weights is at most `(2 + k)**(1 / scale)`. The tilt is
    therefore weak in runs of tens of updates: use `EffectiveSize` there.
    (Toscano et al. 2025)
    """

    scale: float = eqx.field(default=1.0, converter=float, static=True)

    def __check_init__(self):
        if not 0 < self.scale < float("inf"):
            raise InputError(
                f"`LogAnnealing(scale=...)` must be positive, got {self.scale}."
            )

    @override
    def at(self, peak: Float[Array, ""], count: Int[Array, ""]) -> Float[Array, ""]:
        return self.scale * peak / jnp.log(2 + count.astype(peak.dtype))


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

    `at_peak` is the argument of the largest size. By default the shift is zero. For a
    shift-invariant potential it is the peak, so only differences from it matter.
    """
    zero = jnp.zeros_like(peak)
    temperature = bound_below(temperature, peak)
    if at_peak is None and potential.is_shift_invariant():
        at_peak = zero
    if at_peak is None:  # above this temperature the tilt has reached its limit
        hottest = jnp.where(peak > 0, peak * largest_argument(peak.dtype), temperature)
        temperature = jnp.minimum(temperature, hottest)
    scale = Scale(
        temperature=temperature,
        anchor=zero if at_peak is None else peak,
        offset=zero if at_peak is None else at_peak,
        peak=peak,
        top_weight=jnp.ones_like(peak),
        num_updates=count,
    )
    mean = mean_over(scale.relative_weight(potential, size), probability)
    return scale._replace(top_weight=1 / jnp.where(mean > 0, mean, 1))


def mean_over(
    x: Float[Array, " points"], probability: Float[Array, " points"] | None
) -> Float[Array, ""]:
    """`E_p[x]`; `None` is the uniform base."""
    return jnp.mean(x) if probability is None else jnp.sum(probability * x)


def largest_argument(dtype: jnp.dtype) -> Float[Array, ""]:
    """The largest `size / temperature` that potentials are evaluated at."""
    return jnp.exp(jnp.asarray(log_largest_argument(dtype), dtype))


def bound_below(
    temperature: Float[Array, ""], peak: Float[Array, ""]
) -> Float[Array, ""]:
    """Raise the temperature, if needed, so that `peak / temperature` stays finite."""
    coldest = peak / largest_argument(peak.dtype)
    temperature = jnp.maximum(temperature, coldest)
    return jnp.where(temperature > 0, temperature, 1)
