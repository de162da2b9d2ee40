"""The strong Wolfe conditions, by bracketing and zoom."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import check_between, check_count, select_tree
from ._base import (
    AbstractSearch,
    AbstractSearchState,
    Trial,
    has_decreased,
    inside,
    minimum_of_cubic,
)


class StrongWolfeState(AbstractSearchState):
    """`low` is the best end of the interval; before one is found, the last trial."""

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    low: Trial
    high: Trial
    is_bracketed: Bool[Array, ""]


class StrongWolfe(AbstractSearch):
    """Enough decrease, and a slope that has flattened by the factor `curvature`.

    `phi(t) <= phi(0) + decrease t phi'(0)` and `|phi'(t)| <= curvature |phi'(0)|`; the
    interval is found by growing steps and narrowed by cubic interpolation. (Nocedal
    and Wright 2006, algorithms 3.5 and 3.6)
    """

    decrease: float = 1e-4
    curvature: float = 0.9
    max_trials: int = 20

    def __check_init__(self):
        """Settings in range."""
        check_between(
            decrease=(self.decrease, 0.0, self.curvature),
            curvature=(self.curvature, 0.0, 1.0),
        )
        check_count(max_trials=self.max_trials)

    def init(self, origin: Trial, first_step: Float[Array, ""]) -> StrongWolfeState:
        """The state before the first trial."""
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        return StrongWolfeState(first_step, zero, no, no, origin, origin, no)

    def update(
        self, state: StrongWolfeState, origin: Trial, trial: Trial
    ) -> StrongWolfeState:
        """Ends, grows the step, or narrows the interval."""
        low, high = state.low, state.high
        is_kept = self.accepts(origin, trial)
        is_high = ~has_decreased(origin, trial, self.decrease)
        is_high |= ~(trial.value < low.value) & (state.is_bracketed | (low.step > 0))
        end = jnp.where(state.is_bracketed, high.step, jnp.inf)
        is_past = trial.slope * (end - low.step) >= 0  # the minimum is left behind
        new_low = select_tree(is_high, low, trial)
        new_high = select_tree(is_high, trial, select_tree(is_past, low, high))
        is_bracketed = state.is_bracketed | is_high | is_past
        count = state.num_trials + 1
        narrow = _narrowed(new_low, new_high)
        grown = jnp.clip(minimum_of_cubic(low, trial), 2 * trial.step, 10 * trial.step)
        grown = jnp.where(jnp.isfinite(grown), grown, 2 * trial.step)
        next_step = jnp.where(is_bracketed, narrow, grown)
        is_lost = (next_step == new_low.step) | ~jnp.isfinite(next_step)
        width = jnp.abs(new_high.step - new_low.step)
        digits = jnp.finfo(width.dtype).eps * jnp.abs(origin.value)
        hides_little = jnp.abs(new_low.slope) * width <= digits  # below round-off
        is_lost |= is_bracketed & hides_little
        is_done = is_kept | is_lost | (count >= self.max_trials)
        return StrongWolfeState(
            next_step, count, is_kept, is_done, new_low, new_high, is_bracketed
        )

    def is_loosened(self, state: StrongWolfeState) -> Bool[Array, ""]:
        """Never."""
        return jnp.zeros((), bool)

    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """Both strong Wolfe conditions."""
        is_flat = jnp.abs(trial.slope) <= self.curvature * jnp.abs(origin.slope)
        return has_decreased(origin, trial, self.decrease) & is_flat


def _narrowed(low: Trial, high: Trial) -> Float[Array, ""]:
    """By interpolation; a tenth of the way where the far end is not finite."""
    step = inside(minimum_of_cubic(low, high), low.step, high.step, 0.1)
    return jnp.where(high.is_finite, step, low.step + 0.1 * (high.step - low.step))
