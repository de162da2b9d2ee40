"""What an optimizer sees: a loss, its gradient, and data that may change."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ..core import InputError


class AbstractObjective(eqx.Module):
    """A loss of parameters. Its arrays (points, weights) are data, not constants:
    an objective with other values of the same shapes compiles nothing anew."""

    @abc.abstractmethod
    def value(self, params: Any) -> Float[Array, ""]:
        """The loss."""

    @abc.abstractmethod
    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        """The loss, and its gradient as JAX gives it, shaped like `params`."""


@eqx.filter_jit
def value_of(objective: AbstractObjective, params: Any) -> Float[Array, ""]:
    """The loss, compiled."""
    return objective.value(params)


class Objective(AbstractObjective):
    """The loss `fn(params, *args)`; put what changes between steps into `args`."""

    fn: Callable[..., Float[Array, ""]]
    args: tuple[Any, ...] = ()

    def value(self, params: Any) -> Float[Array, ""]:
        """The loss."""
        return self._checked(params)

    def value_and_gradient(self, params: Any) -> tuple[Float[Array, ""], Any]:
        """The loss and its gradient, by automatic differentiation."""
        return eqx.filter_value_and_grad(self._checked)(params)

    def _checked(self, params: Any) -> Float[Array, ""]:
        value = self.fn(params, *self.args)
        shape = getattr(value, "shape", None)
        if shape != ():
            what = type(value).__name__ if shape is None else f"shape {shape}"
            raise InputError(
                f"`fn` must return one number as an array, it returned {what}. For a "
                "vector of residuals take `LevenbergMarquardt`, or return their mean "
                "square."
            )
        return value
