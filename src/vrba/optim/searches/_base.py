"""The interface of a line search, and interpolation between trials.

A search has no loop of its own: it receives a trial and returns the next step to try.
The objective is then compiled in one place, whatever search is used.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""]


class Trial(eqx.Module):
    """A step along the search direction, with the loss and its derivative there."""

    step: Scalar
    value: Scalar
    slope: Scalar

    @property
    def is_finite(self) -> Bool[Array, ""]:
        """Whether value and slope are finite."""
        return jnp.isfinite(self.value) & jnp.isfinite(self.slope)


class AbstractSearchState(eqx.Module):
    """The next step to try, and the outcome of the last trial.

    `is_kept`: the search may end with the last trial. `is_done`: it ends with the
    latest trial that was kept; it has failed if there is none.
    """

    next_step: eqx.AbstractVar[Scalar]
    num_trials: eqx.AbstractVar[Int[Array, ""]]
    is_kept: eqx.AbstractVar[Bool[Array, ""]]
    is_done: eqx.AbstractVar[Bool[Array, ""]]


class AbstractSearch(eqx.Module):
    """A search for a step along a descent direction; `origin` is the trial at zero."""

    @abc.abstractmethod
    def init(self, origin: Trial, first_step: Scalar) -> Any:
        """Return the state before the first trial, at `first_step`."""

    @abc.abstractmethod
    def update(self, state: Any, origin: Trial, trial: Trial) -> Any:
        """Return the state after the trial at `state.next_step`."""

    @abc.abstractmethod
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """Whether the trial meets the conditions of this search."""

    @abc.abstractmethod
    def is_loosened(self, state: Any) -> Bool[Array, ""]:
        """Whether the kept trial failed the conditions of the first search."""


def has_decreased(origin: Trial, trial: Trial, decrease: float) -> Bool[Array, ""]:
    """Armijo: `phi(t) <= phi(0) + decrease t phi'(0)`, and `phi(t) < phi(0)`."""
    bound = origin.value + decrease * trial.step * origin.slope
    is_lower = (trial.value <= bound) & (trial.value < origin.value)
    return trial.is_finite & is_lower


def minimise_cubic(a: Trial, b: Trial) -> Scalar:
    """Return the minimiser of the cubic through both trials, or NaN."""
    first = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    root = jnp.sqrt(first**2 - a.slope * b.slope) * jnp.sign(b.step - a.step)
    fraction = (b.slope + root - first) / (b.slope - a.slope + 2 * root)
    return b.step - (b.step - a.step) * fraction


def clip_inside(step: Scalar, a: Scalar, b: Scalar, margin: float) -> Scalar:
    """Clip `step` to the interval without its margins; its middle if not finite."""
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    width = margin * (high - low)
    middle = low + 0.5 * (high - low)
    step = jnp.where(jnp.isfinite(step), step, middle)
    return jnp.clip(step, low + width, high - width)
