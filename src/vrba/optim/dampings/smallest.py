"""The smallest damping that still gains."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import check_between, check_count, check_positive
from ._base import AbstractDamping, AbstractDampingState, Scalar


class SmallestState(AbstractDampingState):
    """Whether the step has a trial to keep, and the damping of that trial."""

    damping: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    has_kept: Bool[Array, ""]
    kept_damping: Float[Array, ""]


class SmallestDamping(AbstractDamping):
    """The smallest damping, in steps of `factor`, whose gain is at least `gain`.

    From the last damping downwards while trials gain, at most `max_lower` times a
    step, else upwards, ever faster, until one does.
    With a second-order correction this is far faster than dampings that wait for a
    good gain, because the correction makes bold steps succeed.
    """

    factor: float = 3.0
    gain: float = 0.1
    first: float = 1e-3
    max_lower: int = 5
    max_trials: int = 40

    def __check_init__(self):
        """Settings in range."""
        check_between(factor=(self.factor, 1.0, math.inf))
        check_between(gain=(self.gain, 0.0, 1.0))
        check_positive(first=self.first)
        check_count(max_lower=self.max_lower, max_trials=self.max_trials)

    def init(self, dtype: Any) -> SmallestState:
        """`first`, relative to the trace."""
        first, no = jnp.asarray(self.first, dtype), jnp.zeros((), bool)
        return SmallestState(first, jnp.zeros((), jnp.int32), no, no, no, first)

    def begin(self, state: SmallestState, smallest: Scalar) -> SmallestState:
        """From where the last step ended."""
        damping, no = jnp.maximum(state.damping, smallest), jnp.zeros((), bool)
        return SmallestState(damping, jnp.zeros((), jnp.int32), no, no, no, damping)

    def update(
        self, state: SmallestState, gain: Scalar, smallest: Scalar
    ) -> SmallestState:
        """Down while it gains, up until it does."""
        count, damping = state.num_trials + 1, state.damping
        is_good = gain >= self.gain
        has_climbed = (state.num_trials > 0) & ~state.has_kept
        is_lowest = (count > self.max_lower) | (damping <= smallest)
        is_done = jnp.where(is_good, has_climbed | is_lowest, state.has_kept)
        is_done |= count >= self.max_trials
        has_kept = state.has_kept | is_good
        kept = jnp.where(is_good, damping, state.kept_damping)
        lower = jnp.maximum(damping / self.factor, smallest)
        growth = self.factor ** (1 + state.num_trials // 2).astype(damping.dtype)
        following = jnp.where(is_good, lower, damping * growth)
        following = jnp.where(is_done & has_kept, kept, following)
        return SmallestState(following, count, is_good, is_done, has_kept, kept)
