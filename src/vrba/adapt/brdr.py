"""Balanced residual decay rates, behind the same interface."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import InputError, Status, float_dtype
from ._base import AbstractPolicy, judge
from ._pool import check_squared, rows, uniform_pool
from ._residual import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_residual,
    count_once,
    put,
    size_of,
)
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss


class DecayState(eqx.Module):
    """Weight, fourth root of the mean of `R**4`, and visits of each point id."""

    weight: Float[Array, " points"]
    root_moment: Float[Array, " points"]  # the mean itself would leave the floats
    num_visits: Int[Array, " points"]
    status: Status
    num_rejected: Int[Array, ""]


class BRDR(AbstractPolicy):
    """Weigh `R**2` by its inverse decay rate `R**2 / sqrt(EMA R**4)`, of mean one.

    A residual that falls slower than its own history weighs more. The average of `R**4`
    remembers with `moment_memory`, corrected for its start; the weights follow with
    `weight_memory`. (Chen, Howard and Stinis 2024)
    """

    moment_memory: float = eqx.field(default=0.999, converter=float)
    weight_memory: float = eqx.field(default=0.999, converter=float)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)

    def __check_init__(self):
        """Memories are shares."""
        check_squared(self)
        for name in ("moment_memory", "weight_memory"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"`BRDR({name}=...)` must lie in [0, 1), got {getattr(self, name)}."
                )

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> DecayState:
        """Weights of one and no history."""
        shape = uniform_pool(num_points, base)
        dtype = float_dtype(dtype)
        return DecayState(
            weight=jnp.ones(shape, dtype),
            root_moment=jnp.zeros(shape, dtype),
            num_visits=jnp.zeros(shape, jnp.int32),
            status=Status.ok,
            num_rejected=jnp.zeros((), jnp.int32),
        )

    def update(
        self,
        state: DecayState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> DecayState:
        """Follow the decay of the residuals of `ids`."""
        ids = check_ids(ids, state.weight.shape[0])
        residual = check_residual(residual, ids, state.weight.shape)
        return _follow(self, state, residual, ids)

    def weights(
        self, state: DecayState, ids: ArrayOfIds | None = None
    ) -> Float[Array, " batch"]:
        """The square root of the weight of `R**2`."""
        return jnp.sqrt(rows(state.weight, ids))

    def mass(self, state: DecayState) -> Float[Array, " points"]:
        """Uniform."""
        return self.base(state)

    def base(self, state: DecayState) -> Float[Array, " points"]:
        """Uniform."""
        return jnp.full_like(state.weight, 1 / state.weight.size)

    def tilt(self, state: DecayState) -> Float[Array, " points"]:
        """The weights of `R**2`, brought to sum one."""
        return state.weight / jnp.sum(state.weight)

    def is_sampling(self) -> bool:
        """No."""
        return False

    def is_unbiased(self) -> bool:
        """No."""
        return False

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend."""
        return (
            "mean of R**2 balanced by decay rates: no norm, it depends on the history"
        )


@eqx.filter_jit
def _follow(policy, state, residual, ids):
    weight, root = rows(state.weight, ids), rows(state.root_moment, ids)
    visits = (state.num_visits if ids is None else state.num_visits[ids]) + 1
    size = size_of(jax.lax.stop_gradient(residual), 1, weight.dtype)
    is_finite = jnp.isfinite(size)
    size = jnp.where(is_finite, size, 0)

    memory = policy.moment_memory
    unit = jnp.where(jnp.maximum(root, size) > 0, jnp.maximum(root, size), 1)
    mean_fourth = memory * (root / unit) ** 4 + (1 - memory) * (size / unit) ** 4
    new_root = unit * mean_fourth**0.25
    start = -jnp.expm1(visits.astype(weight.dtype) * jnp.log(memory))
    decay = jnp.square(size / jnp.where(new_root > 0, new_root, 1)) * jnp.sqrt(start)

    counted = is_finite
    if ids is not None:
        counted = count_once(ids, is_finite, state.weight.shape[0])
    num_counted = jnp.sum(counted).astype(weight.dtype)
    mean = jnp.sum(jnp.where(counted, decay, 0)) / jnp.maximum(num_counted, 1)
    target = jnp.where(mean > 0, decay / jnp.where(mean > 0, mean, 1), 1)
    new_weight = policy.weight_memory * weight + (1 - policy.weight_memory) * target

    def after(table, new):
        if ids is None:
            return jnp.where(is_finite, new, table)
        return put(table, ids, new, is_finite)

    num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
    return DecayState(
        after(state.weight, new_weight),
        after(state.root_moment, new_root),
        after(state.num_visits, visits),
        status=judge(num_rejected),
        num_rejected=num_rejected,
    )
