"""The interfaces of objectives and optimizers."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from typing_extensions import override

from ..core import InputError, Status


class AbstractObjective(eqx.Module):
    """A loss as a function of the parameters.

    Its arrays (points, weights) are arguments of the compiled program. An objective
    with other values of the same shapes does not compile again.
    """

    @abc.abstractmethod
    def value(self, params: Any) -> Float[Array, ""]:
        """Return the loss."""

    @abc.abstractmethod
    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        """Return the loss and its gradient in JAX's convention, shaped as `params`."""


class AbstractObjectiveStream(eqx.Module):
    """A new objective for every step, for example the loss of a random mini-batch.

    The stream holds settings and data. What changes from step to step (a random key, a
    counter, weights) is its state, a pytree that `advance_stream` carries.
    """

    @abc.abstractmethod
    def next_objective(
        self, stream_state: Any, params: Any
    ) -> tuple[AbstractObjective, Any]:
        """Return the objective of the next step at `params`, and the new stream state.

        The call is part of the compiled loop. The arrays of the new state must have
        the shapes and types of the old ones.
        """


class AbstractInfo(eqx.Module):
    """Measurements of one step. `is_stuck`: no step lowers this objective.

    `value` and `gradient_norm` belong to the parameters after the step. If
    `value_is_old` or `gradient_is_old` is true, they belong to those before it.
    """

    value_is_old: eqx.AbstractClassVar[bool]
    gradient_is_old: eqx.AbstractClassVar[bool]
    value: eqx.AbstractVar[Float[Array, ""]]
    gradient_norm: eqx.AbstractVar[Float[Array, ""]]
    num_evaluations: eqx.AbstractVar[Int[Array, ""]]
    is_stuck: eqx.AbstractVar[Bool[Array, ""]]
    status: eqx.AbstractVar[Status]


class AbstractOptimizer(eqx.Module):
    """Settings of an optimization method; its state is a separate pytree.

    The objective is constant within a step. If its points or weights change between
    steps, call `objective_changed` before the next step.
    """

    @abc.abstractmethod
    def init(self, objective: AbstractObjective, params: Any) -> Any:
        """Return the state before the first step."""

    @abc.abstractmethod
    def step(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> tuple[Any, Any, AbstractInfo]:
        """Make one step; return the new parameters, the new state and an info."""

    @abc.abstractmethod
    def objective_changed(
        self, objective: AbstractObjective, params: Any, state: Any
    ) -> Any:
        """Return the state adapted to an objective with new points or weights."""

    @property
    @abc.abstractmethod
    def needs_residuals(self) -> bool:
        """Whether the objective must be an `AbstractLeastSquares`."""

    @abc.abstractmethod
    def is_compiled(self, state: Any) -> bool:
        """Whether `step` can be traced by JAX and compiled into a loop."""

    @abc.abstractmethod
    def is_stage_over(self, state: Any) -> Bool[Array, ""]:
        """Whether `next_stage` must be called before the next step."""

    @abc.abstractmethod
    def next_stage(self, objective: AbstractObjective, params: Any, state: Any) -> Any:
        """Return the state of the next stage; its structure may differ."""


class AbstractMethod(AbstractOptimizer):
    """An optimizer with a single stage."""

    @override
    def is_stage_over(self, state: Any) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    @override
    def next_stage(self, objective: AbstractObjective, params: Any, state: Any) -> Any:
        return state


def check_dtype(value: Float[Array, ""], vector: Float[Array, " params"]) -> None:
    """Raise if the loss and the parameters differ in dtype."""
    if value.dtype != vector.dtype:
        raise InputError(
            f"The objective returns {value.dtype}, but `params` is {vector.dtype}: "
            "convert the data or the parameters to the same dtype."
        )
