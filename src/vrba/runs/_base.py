"""The interface of a trainer: what the loop and the checkpointer call."""

import abc
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..core import InputError
from .callbacks import Plan
from .outcome import StopReason

LAST_SEED = 2**31 - 1


class AbstractTrainer(eqx.Module):
    """Everything about a run that stays constant.

    Its states hold `params`, `best_params`, `best_score`, `best_step`, `num_steps` and
    `num_since_resample`, and all else that the next step needs.
    """

    recipe: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def resample_every(self) -> int:
        """Steps between two resamplings."""

    @abc.abstractmethod
    def init(self, params: Any = None) -> Any:
        """The state before the first step, from given or random parameters."""

    @abc.abstractmethod
    def state_template(self, stage: int) -> Any:
        """A state of the structure that a stage of the optimizer has."""

    @abc.abstractmethod
    def stage(self, state: Any) -> int:
        """The number of the optimizer's current stage."""

    @abc.abstractmethod
    def stop_reason(self, state: Any) -> StopReason | None:
        """Why training cannot go on from this state; `None` if it can."""

    @abc.abstractmethod
    def is_stage_over(self, state: Any) -> bool:
        """Whether the next step starts another stage of the optimizer."""

    @abc.abstractmethod
    def needs_resample(self, state: Any) -> bool:
        """Whether `resample` must run before the next step."""

    @abc.abstractmethod
    def resample(self, state: Any) -> Any:
        """The state with new points or batches for the next steps."""

    @abc.abstractmethod
    def advance(self, state: Any, num_steps: int) -> tuple[Any, Any]:
        """Several steps: the new state, and what `optim.advance` reports of them."""

    @abc.abstractmethod
    def next_check(self, state: Any) -> int:
        """The number of steps at which the next check is due."""

    @abc.abstractmethod
    def check(self, state: Any) -> tuple[Any, Any]:
        """The state with the best iterate so far, and the measured errors."""

    @abc.abstractmethod
    def after_check(self, state: Any, check: Any) -> tuple[Any, str]:
        """The state to go on from after a check, and what changed, in words."""

    @abc.abstractmethod
    def check_params(self, params: Any) -> Any:
        """The same measurement for any parameters."""

    @abc.abstractmethod
    def plan(self, state: Any) -> Plan:
        """What the run is about to do, without times."""


def next_multiple(num_steps: int, every: int) -> int:
    """The next number of steps that is a multiple of `every`."""
    return (num_steps // every + 1) * every


def seed_array(seed: int) -> np.ndarray:
    """The seed as an array: another seed then compiles nothing."""
    if not 0 <= seed <= LAST_SEED:
        raise InputError(f"`seed` must be between 0 and {LAST_SEED}, got {seed}.")
    return np.asarray(seed, np.int32)


def random_stream(root: Any, number: int) -> Any:
    """An independent random key for each number; 0 belongs to the network."""
    return jax.random.fold_in(jax.random.key(root), number)
