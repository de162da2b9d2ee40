"""Switch when nothing moves any more."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core import check_between, check_count
from .._base import AbstractInfo
from ._base import AbstractSwitch


class StallState(eqx.Module):
    """The loss to beat, and for how many steps it stood."""

    best: Float[Array, ""]
    num_steps: Int[Array, ""]


class OnStall(AbstractSwitch):
    """When the lowest loss has not fallen by the share `decrease` in `num_steps`."""

    num_steps: int = 1000
    decrease: float = 0.1

    def __check_init__(self):
        """Settings in range."""
        check_count(num_steps=self.num_steps)
        check_between(decrease=(self.decrease, 0.0, 1.0))

    def init(self) -> StallState:
        """Any loss is better than none."""
        best = jnp.asarray(jnp.inf, jnp.result_type(float))
        return StallState(best, jnp.zeros((), jnp.int32))

    def update(self, state: StallState, info: AbstractInfo) -> StallState:
        """A new loss to beat, or one more step without."""
        value = info.value.astype(state.best.dtype)
        enough = state.best - self.decrease * jnp.abs(state.best)
        is_better = (value <= enough) | jnp.isinf(state.best)
        count = jnp.where(is_better, 0, state.num_steps + 1).astype(jnp.int32)
        return StallState(jnp.where(is_better, value, state.best), count)

    def is_due(self, state: StallState) -> Bool[Array, ""]:
        """Whether it stood for too long."""
        return state.num_steps >= self.num_steps
