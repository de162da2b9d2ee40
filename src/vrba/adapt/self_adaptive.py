"""Weights learned by ascent, as in SA-PINN, behind the same interface."""

from collections.abc import Callable
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
    put,
    size_of,
)
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss


class AscentState(eqx.Module):
    """One multiplier for each point id."""

    multiplier: Float[Array, " points"]
    status: Status
    num_rejected: Int[Array, ""]


class SelfAdaptive(AbstractPolicy):
    """`lambda <- lambda + rate * m'(lambda) * R**2`, the loss `mean(m(lambda) R**2)`.

    `mask_fn` is `m`, positive and increasing; the weights are `sqrt(m(lambda))`.
    Multipliers start at `start` and never fall. (McClenny and Braga-Neto 2020)
    """

    mask_fn: Callable[[Float[Array, ""]], Float[Array, ""]] = eqx.field(
        default=jnp.square, static=True
    )
    rate: float = eqx.field(default=0.1, converter=float)
    start: float = eqx.field(default=1.0, converter=float)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)

    def __check_init__(self):
        """Ascent climbs, from somewhere."""
        check_squared(self)
        if not 0 < self.rate < float("inf"):
            raise InputError(
                f"`SelfAdaptive(rate=...)` must be positive, got {self.rate}."
            )
        with jax.ensure_compile_time_eval():
            mask = float(self.mask_fn(jnp.asarray(self.start, jnp.result_type(float))))
        if not mask > 0:
            raise InputError(
                f"`SelfAdaptive(mask_fn=...)` must be positive at start={self.start}, "
                f"got {mask}."
            )

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> AscentState:
        """Equal multipliers."""
        shape = uniform_pool(num_points, base)
        return AscentState(
            multiplier=jnp.full(shape, self.start, float_dtype(dtype)),
            status=Status.ok,
            num_rejected=jnp.zeros((), jnp.int32),
        )

    def update(
        self,
        state: AscentState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> AscentState:
        """One step of ascent on the multipliers of `ids`."""
        ids = check_ids(ids, state.multiplier.shape[0])
        residual = check_residual(residual, ids, state.multiplier.shape)
        return _ascend(self, state, residual, ids)

    def weights(
        self, state: AscentState, ids: ArrayOfIds | None = None
    ) -> Float[Array, " batch"]:
        """`sqrt(m(lambda))`."""
        return jnp.sqrt(jax.vmap(self.mask_fn)(rows(state.multiplier, ids)))

    def mass(self, state: AscentState) -> Float[Array, " points"]:
        """Uniform."""
        return self.base(state)

    def base(self, state: AscentState) -> Float[Array, " points"]:
        """Uniform."""
        return jnp.full_like(state.multiplier, 1 / state.multiplier.size)

    def tilt(self, state: AscentState) -> Float[Array, " points"]:
        """`m(lambda)`, brought to sum one."""
        mask = jax.vmap(self.mask_fn)(state.multiplier)
        return mask / jnp.sum(mask)

    def is_sampling(self) -> bool:
        """No."""
        return False

    def is_unbiased(self) -> bool:
        """No."""
        return False

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend."""
        return (
            "saddle of mean(m(lambda) R**2): no norm, the weights remember every step"
        )


@eqx.filter_jit
def _ascend(policy, state, residual, ids):
    old = rows(state.multiplier, ids)
    size = size_of(jax.lax.stop_gradient(residual), 1, old.dtype)
    is_finite = jnp.isfinite(size)
    climb = policy.rate * jax.vmap(jax.grad(policy.mask_fn))(old) * size**2
    is_finite = is_finite & jnp.isfinite(climb)
    new = jnp.where(is_finite, old + climb, old)
    num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
    return AscentState(
        multiplier=new if ids is None else put(state.multiplier, ids, new, is_finite),
        status=judge(num_rejected),
        num_rejected=num_rejected,
    )
