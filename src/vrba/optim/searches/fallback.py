"""A cascade of searches, each looser than the one before."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import InputError, select_tree
from ._base import AbstractSearch, AbstractSearchState, Trial
from .backtracking import Backtracking
from .hager_zhang import HagerZhang
from .strong_wolfe import StrongWolfe


class FallbackState(AbstractSearchState):
    """The states of all searches, which one is at work, and the best trial so far."""

    next_step: Float[Array, ""]
    num_trials: Int[Array, ""]
    is_kept: Bool[Array, ""]
    is_done: Bool[Array, ""]
    states: tuple[Any, ...]
    stage: Int[Array, ""]
    kept_rank: Int[Array, ""]
    kept_value: Float[Array, ""]


class Fallback(AbstractSearch):
    """When a search fails, end with a trial that a looser one accepts.

    Every trial is judged by all searches; only if none of those made so far will do,
    the next search makes trials of its own. A failure costs a worse step, not the run.
    Not given: strong Wolfe, Wolfe with a weaker curvature or its approximation for
    the last digits, Armijo.
    """

    searches: tuple[AbstractSearch, ...]

    def __init__(self, *searches: AbstractSearch):
        looser = HagerZhang(decrease=1e-4, curvature=0.99)
        self.searches = searches or (StrongWolfe(), looser, Backtracking())
        for search in self.searches:
            if not isinstance(search, AbstractSearch):
                raise InputError(f"`searches` must be line searches, got {search!r}.")

    def init(self, origin: Trial, first_step: Float[Array, ""]) -> FallbackState:
        """The state before the first trial."""
        states = tuple(search.init(origin, first_step) for search in self.searches)
        no, zero = jnp.zeros((), bool), jnp.zeros((), jnp.int32)
        none_kept = zero + len(self.searches)
        infinite = jnp.full_like(origin.value, jnp.inf)
        return FallbackState(
            first_step, zero, no, no, states, zero, none_kept, infinite
        )

    def update(
        self, state: FallbackState, origin: Trial, trial: Trial
    ) -> FallbackState:
        """Lets the search at work see the trial, and all of them judge it."""
        new = [
            select_tree(state.stage == i, search.update(old, origin, trial), old)
            for i, (search, old) in enumerate(
                zip(self.searches, state.states, strict=True)
            )
        ]
        pick = lambda values: jnp.stack(values)[state.stage]
        is_accepted = pick([s.is_kept for s in new])
        has_ended = pick([s.is_done for s in new])
        accepted = jnp.stack([s.accepts(origin, trial) for s in self.searches])
        none = len(self.searches)
        rank = jnp.where(accepted.any(), jnp.argmax(accepted), none).astype(jnp.int32)
        is_better = rank < state.kept_rank
        is_better |= (rank == state.kept_rank) & (trial.value < state.kept_value)
        is_kept = is_accepted | (is_better & (rank < none))
        kept_rank = jnp.where(is_kept, rank, state.kept_rank)
        kept_value = jnp.where(is_kept, trial.value, state.kept_value)
        moves_on = has_ended & (kept_rank == none)
        stage = jnp.where(moves_on, state.stage + 1, state.stage)
        stage = jnp.minimum(stage, none - 1)
        is_last = state.stage == none - 1
        is_done = is_accepted | (has_ended & (~moves_on | is_last))
        next_step = jnp.stack([s.next_step for s in new])[stage]
        return FallbackState(
            next_step,
            state.num_trials + 1,
            is_kept,
            is_done,
            tuple(new),
            stage,
            kept_rank,
            kept_value,
        )

    def is_loosened(self, state: FallbackState) -> Bool[Array, ""]:
        """Whether the first search did not accept the kept trial."""
        return state.kept_rank > 0

    def accepts(self, origin: Trial, trial: Trial) -> Bool[Array, ""]:
        """Whether any of the searches would end with this trial."""
        verdicts = [search.accepts(origin, trial) for search in self.searches]
        return jnp.stack(verdicts).any()
