"""Switch by loss."""

import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._base import AbstractInfo
from ._base import AbstractSwitch


class BelowLoss(AbstractSwitch):
    """Once a step reports a loss of `target` or less."""

    target: float

    def init(self) -> Bool[Array, ""]:
        """Not yet."""
        return jnp.zeros((), bool)

    def update(self, state: Bool[Array, ""], info: AbstractInfo) -> Bool[Array, ""]:
        """Whether it ever was."""
        return state | (info.value <= self.target)

    def is_due(self, state: Bool[Array, ""]) -> Bool[Array, ""]:
        """Whether it ever was."""
        return state
