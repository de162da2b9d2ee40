"""Policies for a pool of points: one tilt for all equations, or one for each."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError
from ._inputs import ArrayOfIds, as_shape, rows
from ._tilt import AbstractTilting, TiltState, base_of, check_settings, init_tilt
from .unbiased import Unbiased


class AbstractPoolPolicy(AbstractTilting):
    """What weighting and sampling share: a pool of points, keyed by id.

    `init(num_points)` makes one tilt, of the norm over equations if there are several.
    `init((num_points, 1))` does the same for residuals with an axis of equations.
    `init((num_points, num_eqs))` makes one tilt for each equation.
    """

    correction: eqx.AbstractVar[Unbiased | None]
    cells: ClassVar[None] = None
    separate_axis: ClassVar[int] = 1

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> TiltState:
        shape = as_shape(num_points)
        if len(shape) > 2:
            raise InputError(
                "`num_points` must be a number or `(num_points, num_eqs)`, got "
                f"{num_points}. For functions with points use `Hybrid`."
            )
        if base is not None and jnp.shape(base) != shape[:1]:
            raise InputError(
                f"`base` must have shape {shape[:1]}, one number for each point, got "
                f"{jnp.shape(base)}."
            )
        axis = jnp.zeros((1,) * (shape[1:] == (1,)), jnp.int32)
        if shape[1:] in ((), (1,)):
            return init_tilt(self.smoothing, shape[:1], base, axis, dtype, None)
        if base is not None:
            base = jnp.broadcast_to(jnp.asarray(base)[:, None], shape)
        return init_tilt(self.smoothing, shape, base, axis, dtype, 1)

    @override
    def base(self, state: TiltState) -> Float[Array, " points"]:
        base = base_of(state)
        return base if base.ndim == 1 else jnp.sum(base, axis=1)

    @override
    def tilt(self, state: TiltState) -> Float[Array, " points"]:
        """`p lambda / sum(p lambda)`, averaged over the tilts of the equations."""
        mass = tilted_mass(state)
        return mass / jnp.sum(mass)

    def floored_mass(self, state: TiltState) -> Float[Array, " points"]:
        """A multiple of `(1 - floor) tilt + floor base`: no probability is zero."""
        mass = tilted_mass(state)
        if self.floor == 0:
            return mass
        ratio = self.floor / (1 - self.floor)
        if state.base is None:
            return mass + ratio * jnp.mean(mass)
        return mass + ratio * jnp.sum(mass) * self.base(state)

    def correction_factor(
        self, state: TiltState, ids: ArrayOfIds | None
    ) -> Float[Array, " batch"]:
        """The correction of each weight for sampling from the tilt; one without it."""
        weight = rows(state.weight, ids)
        if self.correction is None:
            return jnp.ones(weight.shape[0], weight.dtype)
        if state.base is None:
            mean = jnp.mean(state.weight, axis=0)
        else:
            share = jnp.sum(state.base, axis=0)
            mean = jnp.sum(state.base * state.weight, axis=0) / share
        tilt = weight / mean if weight.ndim == 1 else jnp.mean(weight / mean, axis=1)
        base_over_tilt = 1 / ((1 - self.floor) * tilt + self.floor)
        return self.correction.factor(base_over_tilt, self.objective.loss_power)


def tilted_mass(state: TiltState) -> Float[Array, " points"]:
    """`p lambda`; for several equations the sum, each divided by its mean."""
    mass = state.weight if state.base is None else state.base * state.weight
    if mass.ndim == 1:
        return mass
    return jnp.sum(mass / jnp.mean(mass, axis=0, keepdims=True), axis=1)


def check_pool(policy: AbstractPoolPolicy) -> None:
    """Check all settings, and that the draws can be corrected."""
    check_settings(policy)
    is_corrected = policy.correction is not None and policy.correction.strength > 0
    if is_corrected and not policy.draws.is_proportional():
        raise InputError(
            f"`correction={policy.correction}` needs draws whose expected counts are "
            f"`n q`, but those of {policy.draws} are not: use `Stratified()`."
        )
