"""What policies around another one share: how they draw, and what is descended."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Int

from ..core import Status, check_kind
from ._base import AbstractPolicy
from .draws import AbstractDraw
from .losses import AbstractLoss


class AbstractWrapperState(eqx.Module):
    """The wrapped policy's state, and more."""

    inner: eqx.AbstractVar[Any]

    @property
    def status(self) -> Status:
        """That of the wrapped policy."""
        return self.inner.status

    @property
    def num_rejected(self) -> Int[Array, ""]:
        """That of the wrapped policy."""
        return self.inner.num_rejected


class AbstractWrapper(AbstractPolicy):
    """A policy that changes what another one sees, or what it gives."""

    policy: eqx.AbstractVar[AbstractPolicy]

    def __check_init__(self):
        """It goes around a policy."""
        check_kind(policy=(self.policy, AbstractPolicy))

    @abc.abstractmethod
    def inner_state(self, state: Any) -> Any:
        """The wrapped policy's part of a state."""

    @property
    def draws(self) -> AbstractDraw:
        """Those of the wrapped policy."""
        return self.policy.draws

    @property
    def objective(self) -> AbstractLoss:
        """That of the wrapped policy."""
        return self.policy.objective

    def is_sampling(self) -> bool:
        """As the wrapped policy."""
        return self.policy.is_sampling()
