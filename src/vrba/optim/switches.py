"""Switches: the condition that ends a stage of a `Sequence`."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import check_between, check_count
from ._base import AbstractInfo


class AbstractSwitch(eqx.Module):
    """A condition on the steps of one stage; once it holds, the stage ends."""

    @abc.abstractmethod
    def init(self) -> Any:
        """Return the state before the first step of the stage."""

    @abc.abstractmethod
    def update(self, state: Any, info: AbstractInfo) -> Any:
        """Return the state after a step."""

    @abc.abstractmethod
    def is_over(self, state: Any) -> Bool[Array, ""]:
        """Whether the stage is over."""


class AfterSteps(AbstractSwitch):
    """End the stage after `num_steps` steps."""

    num_steps: int

    def __check_init__(self):
        """Check that there is at least one step."""
        check_count(num_steps=self.num_steps)

    @override
    def init(self) -> Int[Array, ""]:
        return jnp.zeros((), jnp.int32)

    @override
    def update(self, state: Int[Array, ""], info: AbstractInfo) -> Int[Array, ""]:
        return state + 1

    @override
    def is_over(self, state: Int[Array, ""]) -> Bool[Array, ""]:
        return state >= self.num_steps


class BelowLoss(AbstractSwitch):
    """End the stage once a step reports a loss of at most `target_loss`."""

    target_loss: float

    @override
    def init(self) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    @override
    def update(self, state: Bool[Array, ""], info: AbstractInfo) -> Bool[Array, ""]:
        return state | (info.value <= self.target_loss)

    @override
    def is_over(self, state: Bool[Array, ""]) -> Bool[Array, ""]:
        return state


class StallState(eqx.Module):
    """The last sufficiently lower loss, and the number of steps since then."""

    best_value: Float[Array, ""]
    num_steps: Int[Array, ""]


class OnStall(AbstractSwitch):
    """End the stage if the lowest loss falls by less than a fraction in many steps.

    `decrease` is the fraction that counts as progress, within `num_steps` steps.
    """

    num_steps: int = 1000
    decrease: float = 0.1

    def __check_init__(self):
        """Check that the settings are in range."""
        check_count(num_steps=self.num_steps)
        check_between(decrease=(self.decrease, 0.0, 1.0))

    @override
    def init(self) -> StallState:
        best = jnp.asarray(jnp.inf, jnp.result_type(float))
        return StallState(best, jnp.zeros((), jnp.int32))

    @override
    def update(self, state: StallState, info: AbstractInfo) -> StallState:
        best = state.best_value
        value = info.value.astype(best.dtype)
        is_better = (value <= best - self.decrease * jnp.abs(best)) | jnp.isinf(best)
        count = jnp.where(is_better, 0, state.num_steps + 1).astype(jnp.int32)
        return StallState(jnp.where(is_better, value, best), count)

    @override
    def is_over(self, state: StallState) -> Bool[Array, ""]:
        return state.num_steps >= self.num_steps
