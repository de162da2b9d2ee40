"""The interface of a policy that wraps another one."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num
from typing_extensions import override

from ..core import check_kind
from ._base import AbstractPolicy
from ._inputs import count_once, size_of
from .draws import AbstractDraw
from .losses import AbstractLoss


class AbstractWrapper(AbstractPolicy):
    """A policy that changes the residuals or the results of another policy."""

    policy: eqx.AbstractVar[AbstractPolicy]

    def __check_init__(self):
        check_kind(policy=(self.policy, AbstractPolicy))

    @abc.abstractmethod
    def inner_state(self, state: Any) -> Any:
        """The wrapped policy's part of a state."""

    @property
    @override
    def draws(self) -> AbstractDraw:
        return self.policy.draws

    @property
    @override
    def objective(self) -> AbstractLoss:
        return self.policy.objective

    @override
    def base(self, state: Any) -> Float[Array, " points"]:
        return self.policy.base(self.inner_state(state))

    @override
    def is_sampling(self) -> bool:
        return self.policy.is_sampling()


status_of_inner = property(
    lambda state: state.inner.status, doc="The status of the wrapped policy's state."
)
num_rejected_by_inner = property(
    lambda state: state.inner.num_rejected,
    doc="How many residuals the wrapped policy rejected in the last update.",
)


class BatchSizes(NamedTuple):
    """The residual sizes of a batch: all, the finite ones, and those that count."""

    size: Float[Array, " batch"]
    is_finite: Bool[Array, " batch"]
    is_counted: Bool[Array, " batch"]  # repeated ids count once

    def like(self, residual: Num[Array, "batch *eqs"]) -> Float[Array, "batch *one"]:
        """The sizes as residuals, with an axis of equations if `residual` has one."""
        return self.size.reshape(-1, *(1,) * (residual.ndim - 1))


def batch_sizes(
    residual: Num[Array, "batch *eqs"],
    ids: Int[Array, " batch"] | None,
    num_points: int,
    dtype: jnp.dtype,
) -> BatchSizes:
    """Measure the residuals of `ids`, by default of all points."""
    size = size_of(jax.lax.stop_gradient(residual), 1, dtype)
    is_finite = jnp.isfinite(size)
    if ids is None:
        return BatchSizes(size, is_finite, is_finite)
    return BatchSizes(size, is_finite, count_once(ids, is_finite, num_points))
