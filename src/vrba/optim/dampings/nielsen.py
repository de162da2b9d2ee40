"""Nielsen's rule, which follows the gain of the last step."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import check_count, check_positive
from ._base import AbstractDamping, AbstractDampingState, Scalar


class NielsenState(AbstractDampingState):
    """Growth doubles with each failure."""

    damping: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    growth: Float[Array, ""]


class NielsenDamping(AbstractDamping):
    """One success a step; then the damping times `max(1/3, 1 - (2 gain - 1)**3)`.

    (Nielsen 1999) Cautious: fewer trials a step, more steps.
    """

    first: float = 1e-3
    max_trials: int = 40

    def __check_init__(self):
        """Settings in range."""
        check_positive(first=self.first)
        check_count(max_trials=self.max_trials)

    def init(self, dtype: Any) -> NielsenState:
        """`first`, relative to the trace."""
        first, no = jnp.asarray(self.first, dtype), jnp.zeros((), bool)
        two = jnp.asarray(2, dtype)
        return NielsenState(first, jnp.zeros((), jnp.int32), no, no, two)

    def begin(self, state: NielsenState, smallest: Scalar) -> NielsenState:
        """From where the last step ended."""
        damping, no = jnp.maximum(state.damping, smallest), jnp.zeros((), bool)
        two = jnp.full_like(damping, 2)
        return NielsenState(damping, jnp.zeros((), jnp.int32), no, no, two)

    def update(
        self, state: NielsenState, gain: Scalar, smallest: Scalar
    ) -> NielsenState:
        """Ends at the first gain, else grows."""
        count, is_good = state.num_trials + 1, gain > 0
        shrink = jnp.maximum(1 / 3, 1 - (2 * jnp.minimum(gain, 1) - 1) ** 3)
        factor = jnp.where(is_good, shrink, state.growth)
        is_done = is_good | (count >= self.max_trials)
        damping = jnp.maximum(state.damping * factor, smallest)
        return NielsenState(damping, count, is_good, is_done, 2 * state.growth)
