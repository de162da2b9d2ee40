"""The interface of a trainer: what the loop and the run folder call."""

import abc
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..core import InputError


class AbstractTrainer(eqx.Module):
    """Everything that a run does not change. Its states hold `params`, `best_params`,
    `num_steps` and `num_since_resample`, and all else that the next step needs."""

    recipe: eqx.AbstractVar[Any]

    @property
    @abc.abstractmethod
    def resample_every(self) -> int:
        """Steps between two draws."""

    @abc.abstractmethod
    def init(self, params: Any = None) -> Any:
        """The state before the first step, from given parameters or random ones."""

    @abc.abstractmethod
    def like(self, stage: int) -> Any:
        """A state of the structure that a stage has, to read a file."""

    @abc.abstractmethod
    def stage(self, state: Any) -> int:
        """Which stage of a sequence is at work."""

    @abc.abstractmethod
    def ending(self, state: Any) -> Any:
        """The `Status` that the run ends with here, or `None`."""

    @abc.abstractmethod
    def is_stage_over(self, state: Any) -> bool:
        """Whether the next step is the first of another stage."""

    @abc.abstractmethod
    def needs_resample(self, state: Any) -> bool:
        """Whether `resample` must come before the next step."""

    @abc.abstractmethod
    def resample(self, state: Any) -> Any:
        """What is trained on next."""

    @abc.abstractmethod
    def advance(self, state: Any, num_steps: int) -> tuple[Any, Any]:
        """Steps, and what came of them."""

    @abc.abstractmethod
    def check(self, state: Any) -> tuple[Any, Any]:
        """The state with the best iterate so far, and what was measured."""


LAST_SEED = 2**31 - 1


def as_root(seed: int) -> np.ndarray:
    """The seed as an array, so that another seed compiles nothing."""
    if not 0 <= seed <= LAST_SEED:
        raise InputError(f"`seed` must be between 0 and {LAST_SEED}, got {seed}.")
    return np.asarray(seed, np.int32)


def stream(root: Any, number: int) -> Any:
    """Random numbers of their own for each number: 0 is the network's."""
    return jax.random.fold_in(jax.random.key(root), number)
