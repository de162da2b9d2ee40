"""The interface of a line search: a trial in, the next step to try out.

A search is a machine without a loop of its own, so that the objective is compiled in
one place whatever search, or cascade of searches, is used.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""]


class Trial(eqx.Module):
    """Value and slope of the objective along the direction, at a step."""

    step: Scalar
    value: Scalar
    slope: Scalar

    @property
    def is_finite(self) -> Bool[Array, ""]:
        """Whether value and slope can be used."""
        return jnp.isfinite(self.value) & jnp.isfinite(self.slope)


class AbstractSearchState(eqx.Module):
    """Where a search stands.

    `is_kept`: the search would end with the last trial; `is_done`: it ends, with the
    trial that was kept last, or in failure if none was.
    """

    next_step: eqx.AbstractVar[Scalar]
    num_trials: eqx.AbstractVar[Int[Array, ""]]
    is_kept: eqx.AbstractVar[Bool[Array, ""]]
    is_done: eqx.AbstractVar[Bool[Array, ""]]


class AbstractSearch(eqx.Module):
    """Finds a step along a direction of descent; `origin` is the trial at zero."""

    @abc.abstractmethod
    def init(self, origin: Trial, first_step: Scalar) -> Any:
        """The state before the first trial."""

    @abc.abstractmethod
    def update(self, state: Any, origin: Trial, trial: Trial) -> Any:
        """The state after the trial at `state.next_step`."""

    @abc.abstractmethod
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """Whether this search would end with this trial."""

    @abc.abstractmethod
    def is_loosened(self, state: Any) -> Bool[Array, ""]:
        """Whether the kept trial fell short of what was wanted first."""


def has_decreased(origin: Trial, trial: Trial, decrease: float) -> Bool[Array, ""]:
    """Armijo's condition, `phi(t) <= phi(0) + decrease t phi'(0)`, and truly lower."""
    bound = origin.value + decrease * trial.step * origin.slope
    is_lower = (trial.value <= bound) & (trial.value < origin.value)
    return trial.is_finite & is_lower


def minimum_of_cubic(a: Trial, b: Trial) -> Scalar:
    """Where the cubic through values and slopes at both ends is least, or NaN."""
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    root = jnp.sqrt(first**2 - a.slope * b.slope) * jnp.sign(b.step - a.step)
    share = (b.slope + root - first) / (b.slope - a.slope + 2 * root)
    return b.step - (b.step - a.step) * share


def inside(step: Scalar, a: Scalar, b: Scalar, margin: float) -> Scalar:
    """`step` kept away from both ends of an interval; its middle if not finite."""
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    edge = margin * (high - low)
    middle = low + 0.5 * (high - low)
    step = jnp.where(jnp.isfinite(step), step, middle)
    return jnp.clip(step, low + edge, high - edge)
