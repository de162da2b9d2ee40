"""The tilt of a pool: its state, and the one update that tilting policies share."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from ..core import Status, float_dtype
from ._base import AbstractPolicy, judge
from ._residual import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_residual,
    count_once,
    put,
    size_of,
)
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, Scale


class TiltState(eqx.Module):
    """What the next update needs, keyed by point id along the first axis."""

    weight: Float[Array, "ids *rest"]  # lambda
    base: Float[Array, "ids *rest"] | None  # probability before the tilt; None: uniform
    scale: Scale
    num_updates: Int[Array, ""]
    status: Status
    num_rejected: Int[Array, ""]  # NaN or infinite residuals in the last update


class AbstractTilting(AbstractPolicy):
    """A policy made of a potential, a temperature and a smoothing."""

    potential: eqx.AbstractVar[AbstractPotential]
    temperature: eqx.AbstractVar[AbstractTemperature]
    smoothing: eqx.AbstractVar[Smoothing]
    floor: eqx.AbstractVar[float]
    scale_memory: eqx.AbstractVar[float]

    @abc.abstractmethod
    def separate_axis(self, state: TiltState) -> int | None:
        """The axis along which each place has its own tilt; `None` for one tilt."""

    def scale(
        self,
        state: TiltState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> Scale:
        """The scale of these residuals, to share among the batches of a sweep."""
        residual, ids = self._checked(state, residual, ids)
        return _measure_scale(self, state, residual, ids)

    def update(
        self,
        state: TiltState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
        *,
        scale: Scale | None = None,
    ) -> TiltState:
        """The state after seeing the residuals of `ids`, of all points if not given.

        `scale` replaces the batch's own: with one scale, mini-batches give the full
        batch's weights point by point.
        """
        residual, ids = self._checked(state, residual, ids)
        return _advance(self, state, residual, ids, scale)

    def _checked(self, state, residual, ids):
        ids = check_ids(ids, state.weight.shape[0])
        return check_residual(residual, ids, state.weight.shape), ids

    def measured(
        self, state: TiltState, residual: Num[Array, "..."]
    ) -> Float[Array, "batch *rest"]:
        """What is tilted: the size, or the power of it that the objective asks for."""
        size = size_of(residual, state.weight.ndim, state.weight.dtype)
        power = self.objective.size_power
        return size if power == 1 else size**power


@eqx.filter_jit
def _measure_scale(policy, state, residual, ids):
    size = policy.measured(state, residual)
    finite = keep_finite(size, batch_base(state, size, ids))
    return measure_scale(policy, state, *finite)


@eqx.filter_jit
def _advance(policy, state, residual, ids, scale):
    return advance(policy, state, policy.measured(state, residual), ids, scale)


def check_settings(policy: AbstractTilting) -> None:
    """Refuse settings that cannot work together."""
    policy.temperature.check(policy.potential)
    if not 0 <= policy.scale_memory < 1:
        raise ValueError(
            f"`{type(policy).__name__}(scale_memory=...)` must lie in [0, 1), got "
            f"{policy.scale_memory}."
        )


def check_base(
    base: Float[Array | np.ndarray, "..."], shape: tuple[int, ...], dtype: jnp.dtype
) -> Float[Array, "..."]:
    """The base brought to sum one; an error unless it is a distribution's multiple."""
    numbers = jnp.asarray(base, dtype)
    if numbers.shape != shape:
        raise ValueError(f"`base` must have shape {shape}, got {numbers.shape}.")
    total = jnp.sum(numbers)
    is_good = jnp.all(numbers >= 0) & jnp.isfinite(total) & (total > 0)
    message = "`base` must hold finite numbers >= 0, not all of them zero."
    return eqx.error_if(numbers, ~is_good, message) / total


def init_tilt(
    policy: AbstractTilting,
    shape: tuple[int, ...],
    base: Float[Array | np.ndarray, "..."] | None,
    dtype: Any,
    separate_axis: int | None,
) -> TiltState:
    """Equal weights everywhere; `base` is brought to sum one."""
    dtype = float_dtype(dtype)
    if base is not None:
        base = check_base(base, shape, dtype)
    tilts = () if separate_axis is None else (shape[separate_axis],)
    return TiltState(
        weight=jnp.full(shape, policy.smoothing.start(), dtype),
        base=base,
        scale=Scale(
            temperature=jnp.ones(tilts, dtype),
            anchor=jnp.zeros(tilts, dtype),
            offset=jnp.zeros(tilts, dtype),
            peak=jnp.zeros(tilts, dtype),
            top_weight=jnp.ones(tilts, dtype),
            count=jnp.zeros(tilts, jnp.int32),
        ),
        num_updates=jnp.zeros((), jnp.int32),
        status=Status.ok,
        num_rejected=jnp.zeros((), jnp.int32),
    )


def measure_scale(
    policy: AbstractTilting,
    state: TiltState,
    size: Float[Array, "batch *rest"],
    share: Float[Array, "batch *rest"] | None,
    largest: Float[Array, ""] | None = None,
) -> Scale:
    """The scale of finite sizes; one for all, or one for each place on an axis.

    `share` is the base of these points, not normalised; `None` is the uniform one.
    `largest` is the largest size, if it is known.
    """
    axis = policy.separate_axis(state)
    largest = None if axis is not None else largest

    def measure(size, share):
        if share is None:
            probability, peak = None, jnp.max(size) if largest is None else largest
        else:
            total = jnp.sum(share)
            probability = share.reshape(-1) / jnp.where(total > 0, total, 1)
            peak = jnp.max(jnp.where(share > 0, size, 0))
        return policy.temperature.measure(
            policy.potential, size.reshape(-1), probability, peak, state.num_updates
        )

    new = (measure if axis is None else jax.vmap(measure, in_axes=axis))(size, share)
    if policy.scale_memory == 0:
        return new
    keep = jnp.where(new.peak > 0, policy.scale_memory, 1)  # zeros say nothing
    keep = jnp.where(state.num_updates > 0, keep, 0).astype(size.dtype)
    old_numbers, _ = eqx.partition(state.scale, eqx.is_inexact_array)
    new_numbers, new_counts = eqx.partition(new, eqx.is_inexact_array)
    blend = lambda old, new: keep * old + (1 - keep) * new
    return eqx.combine(jax.tree.map(blend, old_numbers, new_numbers), new_counts)


def any_finite(size: Float[Array, "batch *rest"]) -> Bool[Array, " batch"]:
    """Which rows have something to tell."""
    return jnp.any(jnp.isfinite(size).reshape(size.shape[0], -1), axis=1)


def batch_base(
    state: TiltState,
    size: Float[Array, "batch *rest"],
    ids: Int[Array, " batch"] | None,
) -> Float[Array, "batch *rest"] | None:
    """The base of the points in a batch, not normalised; repeats count once."""
    if ids is None:
        return state.base
    base = jnp.ones_like(size) if state.base is None else state.base[ids]
    once = count_once(ids, any_finite(size), state.weight.shape[0]).astype(size.dtype)
    return base * once.reshape(-1, *(1,) * (size.ndim - 1))


def keep_finite(
    size: Float[Array, "batch *rest"], share: Float[Array, "batch *rest"] | None
) -> tuple[Float[Array, "batch *rest"], Float[Array, "batch *rest"]]:
    """Sizes and base with zeros in place of what is not finite."""
    is_finite = jnp.isfinite(size)
    share = jnp.ones_like(size) if share is None else share
    return jnp.where(is_finite, size, 0), jnp.where(is_finite, share, 0)


def advance(
    policy: AbstractTilting,
    state: TiltState,
    size: Float[Array, "batch *rest"],
    ids: Int[Array, " batch"] | None,
    scale: Scale | None,
) -> TiltState:
    """Blend the tilt of these sizes into the weights of their ids.

    Sizes that are not finite leave their points as they were. They are rare: the
    largest size tells, and the common case does without a mask.
    """
    old = state.weight if ids is None else state.weight[ids]
    share = batch_base(state, size, ids)

    def blend(size, share, largest=None):
        if scale is None:
            used = measure_scale(policy, state, size, share, largest)
        else:
            used = scale
        axis, one_tilt = policy.separate_axis(state), policy.smoothing.blend
        if axis is not None:
            one_tilt = jax.vmap(one_tilt, in_axes=(axis, None, axis, 0), out_axes=axis)
        return one_tilt(old, policy.potential, size, used), used

    def all_of_them():
        return *blend(size, share, largest), jnp.zeros((), jnp.int32)

    def finite_ones():
        is_finite = jnp.isfinite(size)
        new, used = blend(*keep_finite(size, share))
        used = jax.tree.map(
            lambda old, new: jnp.where(jnp.any(is_finite), new, old), state.scale, used
        )
        num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
        return jnp.where(is_finite, new, old), used, num_rejected

    largest = jnp.max(size)
    new, used, num_rejected = jax.lax.cond(
        jnp.isfinite(largest), all_of_them, finite_ones
    )
    return TiltState(
        weight=new if ids is None else put(state.weight, ids, new, any_finite(size)),
        base=state.base,
        scale=used,
        num_updates=jnp.where(
            num_rejected < size.size, jnp.max(used.count) + 1, state.num_updates
        ),
        status=judge(num_rejected),
        num_rejected=num_rejected,
    )


def untilted(state: TiltState) -> Float[Array, "ids *rest"]:
    """The base, spelt out where it is uniform."""
    if state.base is not None:
        return state.base
    return jnp.full_like(state.weight, 1 / state.weight.size)
