"""The interface of an optimizer: settings here, state apart, one step at a time."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError, Status
from .objective import AbstractObjective


class AbstractInfo(eqx.Module):
    """What happened in a step. `is_stuck`: no step lowers this objective.

    Loss and gradient are those where the step ended, unless the class says that they
    are those where it began; a run that stops for them then takes the step back.
    """

    value_is_old: eqx.AbstractClassVar[bool]
    gradient_is_old: eqx.AbstractClassVar[bool]
    value: eqx.AbstractVar[Float[Array, ""]]
    gradient_norm: eqx.AbstractVar[Float[Array, ""]]
    num_evaluations: eqx.AbstractVar[Int[Array, ""]]
    is_stuck: eqx.AbstractVar[Bool[Array, ""]]
    status: eqx.AbstractVar[Status]


class AbstractOptimizer(eqx.Module):
    """Settings of a method. Within a step the objective is frozen; if its points or
    weights change between steps, `objective_changed` must be told."""

    @abc.abstractmethod
    def init(self, objective: AbstractObjective, params: Any) -> Any:
        """The state before the first step."""

    @abc.abstractmethod
    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, AbstractInfo]:
        """One step: new parameters, new state, and what happened."""

    @abc.abstractmethod
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        """The state for an objective whose points or weights are new."""

    @property
    @abc.abstractmethod
    def needs_residuals(self) -> bool:
        """Whether the objective must be least squares, not just a loss."""

    @abc.abstractmethod
    def is_compiled(self, state: Any) -> bool:
        """Whether the next steps may be compiled into one loop."""

    @abc.abstractmethod
    def is_stage_over(self, state: Any) -> Bool[Array, ""]:
        """Whether `next_stage` must be called before the next step."""

    @abc.abstractmethod
    def next_stage(self, objective: AbstractObjective, params: Any, state: Any) -> Any:
        """The state to go on with, possibly of another structure."""


class AbstractMethod(AbstractOptimizer):
    """An optimizer that stays the same from its first step to its last."""

    def is_stage_over(self, state: Any) -> Bool[Array, ""]:
        """Never."""
        return jnp.zeros((), bool)

    def next_stage(self, objective: AbstractObjective, params: Any, state: Any) -> Any:
        """There is nothing to turn to."""
        return state


def check_type(value: Float[Array, ""], vector: Float[Array, " params"]) -> None:
    """Refuses a loss of another type than its parameters."""
    if value.dtype != vector.dtype:
        raise InputError(
            f"The objective is {value.dtype} where `params` is {vector.dtype}: convert "
            "the data or the parameters, so that both are the same."
        )
