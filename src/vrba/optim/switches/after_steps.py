"""Switch by count."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ...core import check_count
from .._base import AbstractInfo
from ._base import AbstractSwitch


class AfterSteps(AbstractSwitch):
    """After `num_steps` steps."""

    num_steps: int

    def __check_init__(self):
        """Settings in range."""
        check_count(num_steps=self.num_steps)

    def init(self) -> Int[Array, ""]:
        """No steps yet."""
        return jnp.zeros((), jnp.int32)

    def update(self, state: Int[Array, ""], info: AbstractInfo) -> Int[Array, ""]:
        """One more."""
        return state + 1

    def is_due(self, state: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether all are made."""
        return state >= self.num_steps
