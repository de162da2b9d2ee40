"""The interface of a switch: when to go on with the next optimizer."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool

from .._base import AbstractInfo


class AbstractSwitch(eqx.Module):
    """Watches the steps of one stage."""

    @abc.abstractmethod
    def init(self) -> Any:
        """The state before the first step of the stage."""

    @abc.abstractmethod
    def update(self, state: Any, info: AbstractInfo) -> Any:
        """The state after a step."""

    @abc.abstractmethod
    def is_due(self, state: Any) -> Bool[Array, ""]:
        """Whether the stage is over."""
