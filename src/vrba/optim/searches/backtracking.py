"""Steps that only shorten, until the value has decreased enough."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import check_between, check_count
from ._base import (
    AbstractSearch,
    AbstractSearchState,
    Trial,
    has_decreased,
    inside,
)


class BacktrackingState(AbstractSearchState):
    """The next step; `is_kept` and `is_done` tell of the last trial."""

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]


class Backtracking(AbstractSearch):
    """Armijo's condition alone, by quadratic interpolation. (Armijo 1966)

    `phi(t) <= phi(0) + decrease t phi'(0)`. Says nothing of the curvature, so an
    update may have to be skipped or damped.
    """

    decrease: float = 1e-4
    max_trials: int = 40

    def __check_init__(self):
        """Settings in range."""
        check_between(decrease=(self.decrease, 0.0, 0.5))
        check_count(max_trials=self.max_trials)

    def init(self, origin: Trial, first_step: Float[Array, ""]) -> BacktrackingState:
        """The state before the first trial."""
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        return BacktrackingState(first_step, zero, no, no)

    def update(
        self, state: BacktrackingState, origin: Trial, trial: Trial
    ) -> BacktrackingState:
        """Ends, or shortens the step to between a tenth and a half."""
        is_kept = self.accepts(origin, trial)
        bend = trial.value - origin.value - origin.slope * trial.step
        guess = -origin.slope * trial.step**2 / (2 * bend)
        guess = jnp.where(trial.is_finite, guess, 0)
        shorter = inside(guess, jnp.zeros_like(guess), trial.step, 0.1)
        shorter = jnp.minimum(shorter, 0.5 * trial.step)
        count = state.num_trials + 1
        is_done = is_kept | (count >= self.max_trials)
        return BacktrackingState(shorter, count, is_kept, is_done)

    def is_loosened(self, state: BacktrackingState) -> Bool[Array, ""]:
        """Never."""
        return jnp.zeros((), bool)

    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """Armijo's condition."""
        return has_decreased(origin, trial, self.decrease)
