"""Line searches that rarely fail: Armijo backtracking, and a sequence of searches."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ...core import InputError, check_between, check_count, select_tree
from ._base import (
    AbstractSearch,
    AbstractSearchState,
    Trial,
    clip_inside,
    has_decreased,
)
from .wolfe import HagerZhang, StrongWolfe


class BacktrackingState(AbstractSearchState):
    """The next step and the outcome of the last trial."""

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]


class Backtracking(AbstractSearch):
    """Armijo's condition alone, by quadratic interpolation. (Armijo 1966)

    `phi(t) <= phi(0) + decrease t phi'(0)`. The curvature along the step may be
    negative, so that the update must be skipped or damped.
    """

    decrease: float = 1e-4
    max_trials: int = 40

    def __check_init__(self):
        """Check that the settings are in range."""
        check_between(decrease=(self.decrease, 0.0, 0.5))
        check_count(max_trials=self.max_trials)

    @override
    def init(self, origin: Trial, first_step: Float[Array, ""]) -> BacktrackingState:
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        return BacktrackingState(first_step, zero, no, no)

    @override
    def update(
        self, state: BacktrackingState, origin: Trial, trial: Trial
    ) -> BacktrackingState:
        is_kept = self.accepts(origin, trial)
        excess = trial.value - origin.value - origin.slope * trial.step
        guess = -origin.slope * trial.step**2 / (2 * excess)
        guess = jnp.where(trial.is_finite, guess, 0)
        shorter = clip_inside(guess, jnp.zeros_like(guess), trial.step, 0.1)
        shorter = jnp.minimum(shorter, 0.5 * trial.step)
        count = state.num_trials + 1
        is_done = is_kept | (count >= self.max_trials)
        return BacktrackingState(shorter, count, is_kept, is_done)

    @override
    def is_loosened(self, state: BacktrackingState) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    @override
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        return has_decreased(origin, trial, self.decrease)


class FallbackState(AbstractSearchState):
    """The states of all searches, the index of the active one, and the best trial.

    `kept_rank` is the index of the strictest search that accepts the best trial.
    """

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    states: tuple[Any, ...]
    active: Int[Array, ""]
    kept_rank: Int[Array, ""]
    kept_value: Float[Array, ""]


class Fallback(AbstractSearch):
    """Several searches, from strict to loose; if one fails, a looser one takes over.

    Every trial is tested against the conditions of all searches. If the active search
    fails, the best trial that any of them accepts ends the search. Without such a
    trial the next search continues. Default: `StrongWolfe`, `HagerZhang` with a weaker
    curvature condition, `Backtracking`.
    """

    searches: tuple[AbstractSearch, ...]

    def __init__(self, *searches: AbstractSearch):
        looser = HagerZhang(decrease=1e-4, curvature=0.99)
        self.searches = searches or (StrongWolfe(), looser, Backtracking())
        for search in self.searches:
            if not isinstance(search, AbstractSearch):
                raise InputError(
                    "`searches` must be line searches such as `StrongWolfe()`, got "
                    f"{search!r}."
                )

    @override
    def init(self, origin: Trial, first_step: Float[Array, ""]) -> FallbackState:
        states = tuple(search.init(origin, first_step) for search in self.searches)
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        none_kept = zero + len(self.searches)
        infinite = jnp.full_like(origin.value, jnp.inf)
        return FallbackState(
            first_step, zero, no, no, states, zero, none_kept, infinite
        )

    @override
    def update(
        self, state: FallbackState, origin: Trial, trial: Trial
    ) -> FallbackState:
        new = [
            select_tree(state.active == i, search.update(old, origin, trial), old)
            for i, (search, old) in enumerate(
                zip(self.searches, state.states, strict=True)
            )
        ]
        of_active = lambda values: jnp.stack(values)[state.active]
        is_accepted = of_active([s.is_kept for s in new])
        has_ended = of_active([s.is_done for s in new])
        accepted = jnp.stack([s.accepts(origin, trial) for s in self.searches])
        none = len(self.searches)
        rank = jnp.where(accepted.any(), jnp.argmax(accepted), none).astype(jnp.int32)
        is_better = rank < state.kept_rank
        is_better |= (rank == state.kept_rank) & (trial.value < state.kept_value)
        is_kept = is_accepted | (is_better & (rank < none))
        kept_rank = jnp.where(is_kept, rank, state.kept_rank)
        kept_value = jnp.where(is_kept, trial.value, state.kept_value)
        needs_next = has_ended & (kept_rank == none)
        active = jnp.where(needs_next, state.active + 1, state.active)
        active = jnp.minimum(active, none - 1)
        is_last = state.active == none - 1
        is_done = is_accepted | (has_ended & (~needs_next | is_last))
        next_step = jnp.stack([s.next_step for s in new])[active]
        return FallbackState(
            next_step,
            state.num_trials + 1,
            is_kept,
            is_done,
            tuple(new),
            active,
            kept_rank,
            kept_value,
        )

    @override
    def is_loosened(self, state: FallbackState) -> Bool[Array, ""]:
        return state.kept_rank > 0

    @override
    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        accepted = [search.accepts(origin, trial) for search in self.searches]
        return jnp.stack(accepted).any()
