"""Dampings: rules for the damping `mu` of a Gauss-Newton step."""

import abc
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import check_between, check_count, check_positive

Scalar = Float[Array, ""]


class AbstractDampingState(eqx.Module):
    """`damping` is the next to try; after the last trial, the first of the next step.

    `is_kept`: the step may end with the last trial. `is_done`: the search ends with the
    latest trial that was kept; it has failed if there is none.
    """

    damping: eqx.AbstractVar[Scalar]
    num_trials: eqx.AbstractVar[Int[Array, ""]]
    is_kept: eqx.AbstractVar[Bool[Array, ""]]
    is_done: eqx.AbstractVar[Bool[Array, ""]]


class AbstractDamping(eqx.Module):
    """A search for the damping of each Gauss-Newton step.

    The gain of a trial is the decrease of the loss divided by the decrease that the
    linear model predicts.
    """

    @abc.abstractmethod
    def init(self, dtype: Any) -> Any:
        """Return the initial state. Its damping is relative to the trace of `J'J`."""

    @abc.abstractmethod
    def begin_step(self, state: Any, min_damping: Scalar) -> Any:
        """Return the state before the first trial of a step."""

    @abc.abstractmethod
    def update(self, state: Any, gain: Scalar, min_damping: Scalar) -> Any:
        """Return the state after a trial of `state.damping`; NaN gains are failures."""


class SmallestState(AbstractDampingState):
    """Whether the step has a trial to keep, and the damping of that trial."""

    damping: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    has_kept: Bool[Array, ""]
    kept_damping: Float[Array, ""]


class SmallestDamping(AbstractDamping):
    """The smallest damping, in steps of `factor`, with a gain of at least `min_gain`.

    The search starts at the last damping. While trials succeed, it divides the damping
    by `factor`, at most `max_lower` times a step. If the first trial fails, it
    multiplies by growing powers of `factor` until one succeeds. With a second-order
    correction this is much faster than rules that wait for a large gain, because the
    correction lets long steps succeed.
    """

    factor: float = 3.0
    min_gain: float = 0.1
    initial: float = 1e-3
    max_lower: int = 5
    max_trials: int = 40

    def __check_init__(self):
        """Check that the settings are in range."""
        check_between(factor=(self.factor, 1.0, math.inf))
        check_between(min_gain=(self.min_gain, 0.0, 1.0))
        check_positive(initial=self.initial)
        check_count(max_lower=self.max_lower, max_trials=self.max_trials)

    @override
    def init(self, dtype: Any) -> SmallestState:
        first, no = jnp.asarray(self.initial, dtype), jnp.zeros((), bool)
        return SmallestState(first, jnp.zeros((), jnp.int32), no, no, no, first)

    @override
    def begin_step(self, state: SmallestState, min_damping: Scalar) -> SmallestState:
        damping, no = jnp.maximum(state.damping, min_damping), jnp.zeros((), bool)
        return SmallestState(damping, jnp.zeros((), jnp.int32), no, no, no, damping)

    @override
    def update(
        self, state: SmallestState, gain: Scalar, min_damping: Scalar
    ) -> SmallestState:
        count, damping = state.num_trials + 1, state.damping
        is_good = gain >= self.min_gain
        has_grown = (state.num_trials > 0) & ~state.has_kept
        is_lowest = (count > self.max_lower) | (damping <= min_damping)
        is_done = jnp.where(is_good, has_grown | is_lowest, state.has_kept)
        is_done |= count >= self.max_trials
        has_kept = state.has_kept | is_good
        kept = jnp.where(is_good, damping, state.kept_damping)
        lower = jnp.maximum(damping / self.factor, min_damping)
        growth = self.factor ** (1 + state.num_trials // 2).astype(damping.dtype)
        following = jnp.where(is_good, lower, damping * growth)
        following = jnp.where(is_done & has_kept, kept, following)
        return SmallestState(following, count, is_good, is_done, has_kept, kept)


class NielsenState(AbstractDampingState):
    """`growth` is the factor after a failure; it doubles with each."""

    damping: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    growth: Float[Array, ""]


class NielsenDamping(AbstractDamping):
    """Nielsen's rule: end at the first gain, then scale by the size of the gain.

    The factor is `max(1/3, 1 - (2 gain - 1)**3)`. (Nielsen 1999) Compared with
    `SmallestDamping` it needs fewer trials a step and more steps.
    """

    initial: float = 1e-3
    max_trials: int = 40

    def __check_init__(self):
        """Check that the settings are in range."""
        check_positive(initial=self.initial)
        check_count(max_trials=self.max_trials)

    @override
    def init(self, dtype: Any) -> NielsenState:
        first, no = jnp.asarray(self.initial, dtype), jnp.zeros((), bool)
        two = jnp.asarray(2, dtype)
        return NielsenState(first, jnp.zeros((), jnp.int32), no, no, two)

    @override
    def begin_step(self, state: NielsenState, min_damping: Scalar) -> NielsenState:
        damping, no = jnp.maximum(state.damping, min_damping), jnp.zeros((), bool)
        two = jnp.full_like(damping, 2)
        return NielsenState(damping, jnp.zeros((), jnp.int32), no, no, two)

    @override
    def update(
        self, state: NielsenState, gain: Scalar, min_damping: Scalar
    ) -> NielsenState:
        count, is_good = state.num_trials + 1, gain > 0
        shrink = jnp.maximum(1 / 3, 1 - (2 * jnp.minimum(gain, 1) - 1) ** 3)
        factor = jnp.where(is_good, shrink, state.growth)
        is_done = is_good | (count >= self.max_trials)
        damping = jnp.maximum(state.damping * factor, min_damping)
        return NielsenState(damping, count, is_good, is_done, 2 * state.growth)
