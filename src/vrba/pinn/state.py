"""The state of training, and what a check measures."""

import dataclasses
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from .balance import BalanceState
from .continuation import ContinuationState


class TrainState(eqx.Module):
    """Everything the next step needs."""

    params: Any
    optimizer: Any
    policies: dict[str, Any]
    ids: dict[str, Int[Array, " batch"]]
    balance: BalanceState
    num_steps: Int[Array, ""]
    num_since_resample: Int[Array, ""]
    num_resamples: Int[Array, ""]
    num_stuck: Int[Array, ""]  # consecutive steps that found no descent
    num_failed: Int[Array, ""]  # all steps that found no descent
    best_params: Any
    best_score: Float[Array, ""]
    best_step: Int[Array, ""]
    first_score: Float[Array, ""]  # of random parameters
    continuation: ContinuationState | None


class Check(eqx.Module):
    """Residuals on held-out points."""

    mean_squares: dict[str, Float[Array, ""]]
    largest: dict[str, Float[Array, ""]]
    score: Float[Array, ""]


def replaced(state: TrainState, **new: Any) -> TrainState:
    """The state with some of its parts replaced."""
    names = [field.name for field in dataclasses.fields(state)]
    return TrainState(**({name: getattr(state, name) for name in names} | new))
