"""The tilt of a pool: the one update that tilting policies share."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num

from ..core import InputError, check_kind
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
from ._tilt_state import TiltState
from .draws import AbstractDraw
from .losses import AbstractLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, Scale


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

    @abc.abstractmethod
    def residual_shape(self, state: TiltState) -> tuple[int, ...]:
        """The shape of the residuals of all ids, without an axis of equations."""

    @abc.abstractmethod
    def kept_sizes(
        self,
        state: TiltState,
        size: Float[Array, "batch *points"],
        ids: Int[Array, " batch"] | None,
    ) -> tuple[Float[Array, "batch *rest"], Int[Array, ""] | None]:
        """One size for each weight, and how many of the points' are not finite.

        `None` in place of the number if there is a weight for each point.
        """

    def scale(
        self,
        state: TiltState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> Scale:
        """The scale of these residuals, to share among the batches of a sweep."""
        residual, ids = self.checked(state, residual, ids)
        return _measure_scale(self, state, jax.lax.stop_gradient(residual), ids)

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
        residual, ids = self.checked(state, residual, ids)
        return advance_by(self, state, jax.lax.stop_gradient(residual), ids, scale)

    def checked(self, state, residual, ids):
        """The residuals and ids of an update, refused if they do not fit."""
        ids = check_ids(ids, state.weight.shape[0])
        return check_residual(residual, ids, self.residual_shape(state)), ids

    def measured(
        self,
        state: TiltState,
        residual: Num[Array, "..."],
        ids: Int[Array, " batch"] | None,
    ) -> tuple[Float[Array, "batch *rest"], Int[Array, ""] | None]:
        """What is tilted: the size, or the power of it that the objective asks for.

        And how many residuals are not finite, as far as `kept_sizes` counts them.
        """
        size = size_of(residual, state.weight.ndim, state.dtype)
        size, num_rejected = self.kept_sizes(state, size, ids)
        power = self.objective.size_power
        return size if power == 1 else size**power, num_rejected


@eqx.filter_jit
def _measure_scale(policy, state, residual, ids):
    size, _ = policy.measured(state, residual, ids)
    finite = keep_finite(size, batch_base(state, size, ids))
    return measure_scale(policy, state, *finite, scale_of(policy, state, ids))


@eqx.filter_jit
def advance_by(policy, state, residual, ids, scale):
    """The state after seeing residuals, through which gradients flow."""
    size, num_rejected = policy.measured(state, residual, ids)
    return advance(policy, state, size, ids, scale, num_rejected)


def check_settings(policy: AbstractTilting) -> None:
    """Refuse settings that are not what they should be, or cannot work together."""
    check_kind(
        potential=(policy.potential, AbstractPotential),
        temperature=(policy.temperature, AbstractTemperature),
        smoothing=(policy.smoothing, Smoothing),
        objective=(policy.objective, AbstractLoss),
        draws=(policy.draws, AbstractDraw),
    )
    policy.temperature.check(policy.potential)
    if not 0 <= policy.scale_memory < 1:
        raise InputError(
            f"`{type(policy).__name__}(scale_memory=...)` must lie in [0, 1), got "
            f"{policy.scale_memory}."
        )


def measure_scale(
    policy: AbstractTilting,
    state: TiltState,
    size: Float[Array, "batch *rest"],
    share: Float[Array, "batch *rest"] | None,
    before: Scale,
    largest: Float[Array, ""] | None = None,
) -> Scale:
    """The scale of finite sizes; one for all, or one for each place on an axis.

    `share` is the base of these points, not normalised; `None` is the uniform one.
    `before` is the scale so far. `largest` is the largest size, if it is known.
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
    old_numbers, _ = eqx.partition(before, eqx.is_inexact_array)
    new_numbers, new_counts = eqx.partition(new, eqx.is_inexact_array)
    blend = lambda old, new: keep * old + (1 - keep) * new
    return eqx.combine(jax.tree.map(blend, old_numbers, new_numbers), new_counts)


def scale_of(
    policy: AbstractTilting, state: TiltState, ids: Int[Array, " batch"] | None
) -> Scale:
    """The scale so far; of these ids if each has one of its own."""
    if ids is None or policy.separate_axis(state) != 0:
        return state.scale
    return jax.tree.map(lambda leaf: leaf[ids], state.scale)


def put_scale(
    policy: AbstractTilting,
    state: TiltState,
    ids: Int[Array, " batch"] | None,
    used: Scale,
    is_good: Bool[Array, " batch"],
) -> Scale:
    """The scale after an update; those of other ids stay as they were."""
    if ids is None or policy.separate_axis(state) != 0:
        return used
    keep = lambda old, new: put(old, ids, new, is_good)
    return jax.tree.map(keep, state.scale, used)


def any_finite(size: Float[Array, "batch *rest"]) -> Bool[Array, " batch"]:
    """Which rows have something to tell."""
    return jnp.any(jnp.isfinite(size).reshape(size.shape[0], -1), axis=1)


def has_no_repeats(
    ids: Int[Array, " batch"] | None, num_points: int
) -> Bool[Array, ""]:
    """Whether no id comes twice."""
    if ids is None:
        return jnp.ones((), bool)
    return jnp.all(count_once(ids, jnp.ones(ids.shape, bool), num_points))


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
    num_bad: Int[Array, ""] | None = None,
) -> TiltState:
    """Blend the tilt of these sizes into the weights of their ids.

    Sizes that are not finite leave their points as they were, and repeated ids count
    once. Both are rare: the largest size and the ids tell, and the common case does
    without a mask. `num_bad` is how many residuals were not finite, if these sizes do
    not tell.
    """
    old = (state.weight if ids is None else state.weight[ids]).astype(state.dtype)
    largest, before = jnp.max(size), scale_of(policy, state, ids)
    is_common = jnp.isfinite(largest) & has_no_repeats(ids, state.weight.shape[0])

    def blend(size, share, largest=None):
        if scale is None:
            used = measure_scale(policy, state, size, share, before, largest)
        else:
            used = scale
        axis, one_tilt = policy.separate_axis(state), policy.smoothing.blend
        if axis is not None:
            one_tilt = jax.vmap(one_tilt, in_axes=(axis, None, axis, 0), out_axes=axis)
        return one_tilt(old, policy.potential, size, used), used

    def all_of_them():
        share = state.base
        share = share if share is None or ids is None else share[ids]
        num_rejected, is_good = jnp.zeros((), jnp.int32), jnp.ones(size.shape[0], bool)
        return *blend(size, share, largest), num_rejected, is_good

    def finite_ones():
        is_finite = jnp.isfinite(size)
        new, used = blend(*keep_finite(size, batch_base(state, size, ids)))
        used = jax.tree.map(
            lambda old, new: jnp.where(jnp.any(is_finite), new, old), before, used
        )
        num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
        return jnp.where(is_finite, new, old), used, num_rejected, any_finite(size)

    new, used, num_rejected, is_good = jax.lax.cond(is_common, all_of_them, finite_ones)
    new = new.astype(state.weight.dtype)
    num_told = num_rejected if num_bad is None else num_bad
    return TiltState(
        weight=new if ids is None else put(state.weight, ids, new, is_good),
        base=state.base,
        scale=put_scale(policy, state, ids, used, is_good),
        num_updates=jnp.where(
            num_rejected < size.size, jnp.max(used.count) + 1, state.num_updates
        ),
        status=judge(num_told),
        num_rejected=num_told,
        point_base=state.point_base,
    )
