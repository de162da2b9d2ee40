"""A pool of points, one tilt over it or one for each equation."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import InputError
from ._base import AbstractPolicy
from ._residual import ArrayOfIds, as_shape, check_ids
from ._tilt import AbstractTilting
from ._tilt_state import TiltState, init_tilt, untilted
from .losses import SquaredLoss
from .unbiased import Unbiased


class AbstractPoolPolicy(AbstractTilting):
    """What weighting and sampling share: a pool of points, keyed by id.

    `init(num_points)` makes one tilt, of the norm over equations if there are several;
    `init((num_points, num_eqs))` one tilt for each equation.
    """

    correction: eqx.AbstractVar[Unbiased | None]

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> TiltState:
        """Equal weights for `num_points`, or for `(num_points, num_eqs)`."""
        shape = as_shape(num_points)
        if len(shape) > 2:
            raise InputError(
                "`num_points` must be a number or `(num_points, num_eqs)`, got "
                f"{num_points}; for functions times points use `Hybrid`."
            )
        if base is not None and jnp.shape(base) != shape[:1]:
            raise InputError(
                f"`base` must have shape {shape[:1]}, one number for each point, got "
                f"{jnp.shape(base)}."
            )
        if base is not None and len(shape) == 2:
            base = jnp.broadcast_to(jnp.asarray(base)[:, None], shape)
        separate_axis = 1 if len(shape) == 2 else None
        return init_tilt(self.smoothing, shape, base, dtype, separate_axis)

    def separate_axis(self, state: TiltState) -> int | None:
        """Equations, where each has its tilt."""
        return 1 if state.weight.ndim == 2 else None

    def residual_shape(self, state: TiltState) -> tuple[int, ...]:
        """That of the weights."""
        return state.weight.shape

    def kept_sizes(
        self,
        state: TiltState,
        size: Float[Array, "points *eqs"],
        ids: Int[Array, " points"] | None,
    ) -> tuple[Float[Array, "points *eqs"], None]:
        """All of them."""
        return size, None

    def base(self, state: TiltState) -> Float[Array, " points"]:
        """The base that `init` was given."""
        return over_equations(untilted(state))

    def tilt(self, state: TiltState) -> Float[Array, " points"]:
        """`p lambda / sum(p lambda)`, averaged over equations that have their own."""
        mass = tilted_mass(state)
        return mass / jnp.sum(mass)

    def floored_mass(self, state: TiltState) -> Float[Array, " points"]:
        """A multiple of `(1 - floor) tilt + floor base`, so that no point is lost."""
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
        """`p / q` to the power that the loss takes back; one if uncorrected."""
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
    """`p lambda`; of several equations the sum, each brought to mean one."""
    mass = state.weight if state.base is None else state.base * state.weight
    if mass.ndim == 1:
        return mass
    return jnp.sum(mass / jnp.mean(mass, axis=0, keepdims=True), axis=1)


def check_pool(policy: AbstractPoolPolicy) -> None:
    """A floor is a share, and a correction needs draws it can correct."""
    check_floor(policy)
    is_corrected = policy.correction is not None and policy.correction.strength > 0
    if is_corrected and not policy.draws.is_proportional():
        raise InputError(
            f"`correction={policy.correction}` needs draws whose expected counts are "
            f"`n q`, but those of {policy.draws} are not: use `Stratified()`."
        )


def check_squared(policy: AbstractPolicy) -> None:
    """Methods that define their own weights come with their own loss."""
    if not isinstance(policy.objective, SquaredLoss):
        raise InputError(
            f"`{type(policy).__name__}(objective=...)` must be `SquaredLoss()`, got "
            f"{policy.objective}."
        )


def check_floor(policy: AbstractTilting) -> None:
    """A floor is a share."""
    if not 0 <= policy.floor < 1:
        raise InputError(
            f"`{type(policy).__name__}(floor=...)` must lie in [0, 1), got "
            f"{policy.floor}."
        )


def over_equations(probability: Float[Array, "points *eqs"]) -> Float[Array, " points"]:
    """Add up what the equations ask of a point."""
    return probability if probability.ndim == 1 else jnp.sum(probability, axis=1)


def rows(
    table: Float[Array, "points *eqs"], ids: ArrayOfIds | None
) -> Float[Array, "batch *eqs"]:
    """The rows of `ids`, or all of them."""
    checked: Int[Array, " batch"] | None = check_ids(ids, table.shape[0])
    return table if checked is None else table[checked]


def uniform_pool(
    num_points: int | tuple[int, ...],
    base: Float[Array | np.ndarray, "..."] | None,
) -> tuple[int]:
    """The shape of a pool without a base of its own."""
    shape = as_shape(num_points)
    if len(shape) != 1:
        raise InputError(f"`num_points` must be one number, got {num_points}.")
    if base is not None:
        raise InputError("This policy draws uniformly: `base` must be None.")
    return shape
