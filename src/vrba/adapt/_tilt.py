"""The tilt of a pool: its state, and the update that tilting policies share."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num
from typing_extensions import override

from ..core import InputError, Status, check_kind, float_dtype
from ._base import AbstractPolicy, update_status
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_base,
    check_ids,
    check_residual,
    count_once,
    equation_axis_of,
    put,
    size_of,
    vary_with,
)
from ._shared_weights import cell_sizes, point_shape
from .draws import AbstractDraw
from .losses import AbstractLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, Scale


class TiltState(NamedTuple):
    """What the next update needs, keyed by point id along the first axis.

    Weights may have a lower precision than the scale, whose dtype all arithmetic uses.
    """

    weight: Float[Array, "ids *rest"]  # lambda
    base: Float[Array, "ids *rest"] | None  # probability before the tilt; None: uniform
    scale: Scale
    num_updates: Int[Array, ""]
    num_rejected: Int[Array, ""]  # NaN or infinite residuals in the last update
    equation_axis: Int[Array, "..."]  # its shape follows the weights in `weights`
    point_base: Float[Array, "ids *points"] | None = None  # if points share weights

    @property
    def status(self) -> Status:
        """Whether the last update rejected residuals."""
        return update_status(self.num_rejected)

    @property
    def dtype(self) -> jnp.dtype:
        """The dtype of all arithmetic."""
        return self.scale.peak.dtype


class AbstractTilting(AbstractPolicy):
    """A policy made of a potential, a temperature and a smoothing.

    `separate_axis` is the axis along which each index has its own tilt, if the scale of
    the state has an axis. `cells` are the points that share a weight; `None` if each
    point has its own.
    """

    potential: eqx.AbstractVar[AbstractPotential]
    temperature: eqx.AbstractVar[AbstractTemperature]
    smoothing: eqx.AbstractVar[Smoothing]
    floor: eqx.AbstractVar[float]
    scale_memory: eqx.AbstractVar[float]
    cells: eqx.AbstractVar[tuple[int, ...] | None]
    separate_axis: eqx.AbstractClassVar[int]

    def scale(
        self,
        state: TiltState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> Scale:
        """The scale of these residuals, to share among the batches of a sweep."""
        residual, ids = checked(self, state, residual, ids)
        return _measure_scale(self, state, jax.lax.stop_gradient(residual), ids)

    @override
    def update(
        self,
        state: TiltState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
        *,
        scale: Scale | None = None,
    ) -> TiltState:
        """Return the state after the residuals of `ids`, by default of all points.

        `scale` replaces the scale of the batch: with a common scale, mini-batches give
        the same weights as the full batch.
        """
        residual, ids = checked(self, state, residual, ids)
        return update_tilt(self, state, jax.lax.stop_gradient(residual), ids, scale)


def checked(
    policy: AbstractTilting,
    state: TiltState,
    residual: ArrayOfNumbers,
    ids: ArrayOfIds | None,
) -> tuple[Num[Array, "..."], Int[Array, " batch"] | None]:
    """Check the residuals and ids of an update."""
    shape = state.weight.shape
    ids = check_ids(ids, shape[0])
    if policy.cells is not None:
        shape = point_shape(shape, policy.cells)
    return check_residual(residual, ids, shape, state.equation_axis), ids


def check_settings(policy: AbstractTilting) -> None:
    """Raise `InputError` for settings of the wrong kind or that do not fit together."""
    check_kind(
        potential=(policy.potential, AbstractPotential),
        temperature=(policy.temperature, AbstractTemperature),
        smoothing=(policy.smoothing, Smoothing),
        objective=(policy.objective, AbstractLoss),
        draws=(policy.draws, AbstractDraw),
    )
    policy.temperature.check(policy.potential)
    for name, share in (("scale_memory", policy.scale_memory), ("floor", policy.floor)):
        if not 0 <= share < 1:
            raise InputError(
                f"`{type(policy).__name__}({name}=...)` must lie in [0, 1), got "
                f"{share}."
            )


def init_tilt(
    smoothing: Smoothing,
    shape: tuple[int, ...],
    base: Float[Array | np.ndarray, "..."] | None,
    equation_axis: Int[Array, "..."],
    dtype: Any,
    separate_axis: int | None,
    weight_dtype: Any = None,
    point_base: Float[Array, "..."] | None = None,
) -> TiltState:
    """Equal weights everywhere; `base` is normalised."""
    dtype = float_dtype(dtype)
    if base is not None:
        base = check_base(base, shape, dtype)
    tilts = () if separate_axis is None else (shape[separate_axis],)
    return TiltState(
        weight=jnp.full(shape, smoothing.start(), weight_dtype or dtype),
        base=base,
        scale=Scale(
            temperature=jnp.ones(tilts, dtype),
            anchor=jnp.zeros(tilts, dtype),
            offset=jnp.zeros(tilts, dtype),
            peak=jnp.zeros(tilts, dtype),
            top_weight=jnp.ones(tilts, dtype),
            num_updates=jnp.zeros(tilts, jnp.int32),
        ),
        num_updates=jnp.zeros((), jnp.int32),
        num_rejected=jnp.zeros((), jnp.int32),
        equation_axis=equation_axis,
        point_base=point_base,
    )


def base_of(state: TiltState) -> Float[Array, "ids *rest"]:
    """The base as an array, also if it is uniform."""
    if state.base is not None:
        return state.base
    return jnp.full(state.weight.shape, 1 / state.weight.size, state.dtype)


@eqx.filter_jit
def _measure_scale(policy, state, residual, ids):
    size, _ = _tilted_sizes(policy, state, residual, ids)
    size, share = _finite_only(size, _batch_base(state, size, ids))
    return _scale_of_sizes(
        policy, state, size, share, _scale_before(policy, state, ids)
    )


@eqx.filter_jit
def update_tilt(
    policy: AbstractTilting,
    state: TiltState,
    residual: Num[Array, "..."],
    ids: Int[Array, " batch"] | None,
    scale: Scale | None,
) -> TiltState:
    """Blend the tilt of the residuals into the weights of their ids.

    Residuals that are not finite leave their weights unchanged, and repeated ids count
    once. Both are rare: the common case needs no mask. Gradients flow to `residual`.
    """
    size, num_bad = _tilted_sizes(policy, state, residual, ids)
    old = (state.weight if ids is None else state.weight[ids]).astype(state.dtype)
    largest, before = jnp.max(size), _scale_before(policy, state, ids)
    is_common = jnp.isfinite(largest) & _has_no_repeats(ids, state.weight.shape[0])

    def blend(size, share, largest=None):
        if scale is None:
            used = _scale_of_sizes(policy, state, size, share, before, largest)
        else:
            used = scale
        axis, one_tilt = _tilt_axis(policy, state), policy.smoothing.blend
        if axis is not None:
            one_tilt = jax.vmap(one_tilt, in_axes=(axis, None, axis, 0), out_axes=axis)
        return one_tilt(old, policy.potential, size, used), used

    def blend_all():
        share = state.base
        share = share if share is None or ids is None else share[ids]
        num_rejected, is_good = jnp.zeros((), jnp.int32), jnp.ones(size.shape[0], bool)
        found = *blend(size, share, largest), num_rejected, is_good
        return vary_with(found, largest, state.num_updates)

    def blend_finite():
        is_finite = jnp.isfinite(size)
        new, used = blend(*_finite_only(size, _batch_base(state, size, ids)))
        used = jax.tree.map(
            lambda old, new: jnp.where(jnp.any(is_finite), new, old), before, used
        )
        num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
        found = jnp.where(is_finite, new, old), used, num_rejected, _any_finite(size)
        return vary_with(found, largest, state.num_updates)

    new, used, num_rejected, is_good = jax.lax.cond(is_common, blend_all, blend_finite)
    new = new.astype(state.weight.dtype)
    return TiltState(
        weight=new if ids is None else put(state.weight, ids, new, is_good),
        base=state.base,
        scale=_scale_after(policy, state, ids, used, is_good),
        num_updates=jnp.where(
            num_rejected < size.size, jnp.max(used.num_updates) + 1, state.num_updates
        ),
        num_rejected=num_rejected if num_bad is None else num_bad,
        equation_axis=equation_axis_of(residual, state.weight.shape),
        point_base=state.point_base,
    )


def _tilted_sizes(policy, state, residual, ids):
    """The sizes to the power that the objective needs, one for each weight.

    Also the number of residuals that are not finite, if points share weights.
    """
    size, num_bad = size_of(residual, state.weight.ndim, state.dtype), None
    if policy.cells is not None:
        share = state.point_base
        share = share if share is None or ids is None else share[ids]
        size, num_bad = cell_sizes(size, share, policy.cells)
    power = policy.objective.size_power
    return size if power == 1 else size**power, num_bad


def _tilt_axis(policy: AbstractTilting, state: TiltState) -> int | None:
    """The axis along which each index has its own tilt; `None` for one tilt."""
    return None if state.scale.peak.ndim == 0 else policy.separate_axis


def _scale_of_sizes(
    policy: AbstractTilting,
    state: TiltState,
    size: Float[Array, "batch *rest"],
    share: Float[Array, "batch *rest"] | None,
    before: Scale,
    largest: Float[Array, ""] | None = None,
) -> Scale:
    """The scale of finite sizes: one for all, or one for each index of an axis.

    `share` is the base of these points, not normalised; `None` is the uniform one.
    `before` is the previous scale. `largest` is the largest size, if it is known.
    """
    axis = _tilt_axis(policy, state)
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
    keep = jnp.where(new.peak > 0, policy.scale_memory, 1)  # zeros have no scale
    keep = jnp.where(state.num_updates > 0, keep, 0).astype(size.dtype)
    old_numbers, _ = eqx.partition(before, eqx.is_inexact_array)
    new_numbers, new_counts = eqx.partition(new, eqx.is_inexact_array)
    blend = lambda old, new: keep * old + (1 - keep) * new
    return eqx.combine(jax.tree.map(blend, old_numbers, new_numbers), new_counts)


def _scale_before(policy, state, ids):
    """The previous scale; that of these ids if each id has its own."""
    if ids is None or _tilt_axis(policy, state) != 0:
        return state.scale
    return jax.tree.map(lambda leaf: leaf[ids], state.scale)


def _scale_after(policy, state, ids, used, is_good):
    """The scale after an update; other ids keep theirs."""
    if ids is None or _tilt_axis(policy, state) != 0:
        return used
    keep = lambda old, new: put(old, ids, new, is_good)
    return jax.tree.map(keep, state.scale, used)


def _any_finite(size: Float[Array, "batch *rest"]) -> Bool[Array, " batch"]:
    """Which rows have a finite size."""
    return jnp.any(jnp.isfinite(size).reshape(size.shape[0], -1), axis=1)


def _has_no_repeats(
    ids: Int[Array, " batch"] | None, num_points: int
) -> Bool[Array, ""]:
    """Whether all ids differ."""
    if ids is None:
        return jnp.ones((), bool)
    return jnp.all(count_once(ids, jnp.ones(ids.shape, bool), num_points))


def _batch_base(state, size, ids):
    """The base of the points in a batch, not normalised; repeated ids count once."""
    if ids is None:
        return state.base
    base = jnp.ones_like(size) if state.base is None else state.base[ids]
    once = count_once(ids, _any_finite(size), state.weight.shape[0]).astype(size.dtype)
    return base * once.reshape(-1, *(1,) * (size.ndim - 1))


def _finite_only(
    size: Float[Array, "batch *rest"], share: Float[Array, "batch *rest"] | None
) -> tuple[Float[Array, "batch *rest"], Float[Array, "batch *rest"]]:
    """Sizes and base, zero where the size is not finite."""
    is_finite = jnp.isfinite(size)
    share = jnp.ones_like(size) if share is None else share
    return jnp.where(is_finite, size, 0), jnp.where(is_finite, share, 0)
