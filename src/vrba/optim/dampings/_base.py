"""The interface of a damping rule: the gain of a trial in, the next damping out."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int

Scalar = Float[Array, ""]


class AbstractDampingState(eqx.Module):
    """`damping` is the next to try; after the last trial, where the next step begins.

    `is_kept`: the step would end with the last trial. `is_done`: it ends with the
    trial that was kept last, or without one.
    """

    damping: eqx.AbstractVar[Scalar]
    num_trials: eqx.AbstractVar[Int[Array, ""]]
    is_kept: eqx.AbstractVar[Bool[Array, ""]]
    is_done: eqx.AbstractVar[Bool[Array, ""]]


class AbstractDamping(eqx.Module):
    """How strongly a Gauss-Newton step is held back. The gain of a trial is its
    decrease of the loss over the decrease that the linear model foresees."""

    @abc.abstractmethod
    def init(self, dtype: Any) -> Any:
        """The state before anything is known, relative to the trace of `J'J`."""

    @abc.abstractmethod
    def begin(self, state: Any, smallest: Scalar) -> Any:
        """The state at the beginning of a step; no damping below `smallest`."""

    @abc.abstractmethod
    def update(self, state: Any, gain: Scalar, smallest: Scalar) -> Any:
        """The state after a trial of `state.damping`; a gain of NaN is a failure."""
