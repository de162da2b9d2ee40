"""For operators: hard functions are drawn more often, hard places weigh more."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import InputError, float_dtype
from ._cells import (
    as_cells,
    cell_shape,
    point_shape,
    repeat_cells,
    size_of_cells,
    sum_cells,
)
from ._pool import check_floor, rows
from ._residual import ArrayOfIds, ArrayOfNumbers, as_shape
from ._tilt import AbstractTilting, advance_by, check_settings
from ._tilt_state import TiltState, check_base, init_tilt, untilted
from .draws import AbstractDraw, WithoutReplacement
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .scores import AbstractScore, JointScore
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing

_KEPT = ("float16", "float32", "float64")


class Hybrid(AbstractTilting):
    """One tilt over functions and points, taken apart.

    Its marginal over functions is what functions are drawn from; its conditional over a
    function's points gives the weights, of mean one in every function. Residuals are
    `[funcs, points...]` with any number of axes of points; ids are those of functions.

    There is a weight for each point. To keep fewer, `cells` says how many points along
    each axis share one: with `(32, 32, 1)` a function on a grid of 32 x 32 has a weight
    for each time. The size of a cell is the root of the mean square of the sizes in it.
    `weight_dtype="float16"` keeps weights in half the memory; all is computed in the
    dtype of the run, and what is kept is off by at most `eps / (2 (1 - memory))` of the
    largest weight, 5 % with the usual memory of 0.99.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing(memory=0.99, rate=0.1)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)
    score: AbstractScore = eqx.field(default=JointScore(), kw_only=True)
    draws: AbstractDraw = eqx.field(default=WithoutReplacement(), kw_only=True)
    floor: float = eqx.field(default=1e-3, converter=float, kw_only=True)
    scale_memory: float = eqx.field(default=0.0, converter=float, kw_only=True)
    cells: tuple[int, ...] | None = eqx.field(
        default=None, converter=as_cells, static=True, kw_only=True
    )
    weight_dtype: str | None = eqx.field(default=None, static=True, kw_only=True)

    def __check_init__(self):
        """The temperature must suit the potential, and the digits the memory."""
        check_settings(self)
        check_floor(self)
        check_digits(self)

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> TiltState:
        """Equal weights for `(num_funcs, num_points, ...)`, points at full resolution.

        So is `base`, and it is kept as it is, also if points share weights.
        """
        shape = as_shape(num_points)
        if len(shape) < 2:
            raise InputError(
                f"`Hybrid.init` needs `(num_funcs, num_points, ...)`, got {num_points}."
            )
        dtype = float_dtype(dtype)
        kept = dtype if self.weight_dtype is None else float_dtype(self.weight_dtype)
        axis, point_base = self.score.separate_axis(), None
        if self.cells is not None:
            coarse = cell_shape(shape, self.cells)
            if base is not None:
                point_base = check_base(base, shape, dtype)
                base = sum_cells(point_base, self.cells)
            shape = coarse
        return init_tilt(self.smoothing, shape, base, dtype, axis, kept, point_base)

    def separate_axis(self, state: TiltState) -> int | None:
        """Functions, if the score wants each on its own scale."""
        del state
        return self.score.separate_axis()

    def residual_shape(self, state: TiltState) -> tuple[int, ...]:
        """Functions and their points."""
        shape = state.weight.shape
        return shape if self.cells is None else point_shape(shape, self.cells)

    def kept_sizes(
        self,
        state: TiltState,
        size: Float[Array, "funcs *points"],
        ids: Int[Array, " funcs"] | None,
    ) -> tuple[Float[Array, "funcs *cells"], Int[Array, ""] | None]:
        """Those of cells, if points share weights.

        Residuals that are not finite are left out, and all of them are counted; a cell
        that has no other keeps its weight.
        """
        if self.cells is None:
            return size, None
        share = state.point_base
        share = share if share is None or ids is None else share[ids]
        return size_of_cells(size, share, self.cells)

    def update_through(
        self, state: TiltState, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> TiltState:
        """`update`, but gradients flow through the weights to the residual, as in the
        published code for operators."""
        return advance_by(self, state, *self.checked(state, residual, ids), None)

    def weights_bytes(self, state: TiltState) -> int:
        """The memory that the weights take."""
        return state.weight.nbytes

    def weights(
        self, state: TiltState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "funcs *points"]:
        """The conditional tilt over each function's points, of mean one.

        A base that is not uniform over points enters too, as the loss is a plain mean.
        A function without weight or base gets weights of one.
        """
        weight = rows(state.weight, ids).astype(state.dtype)
        share = None if state.base is None else over_mean(rows(state.base, ids))
        mean = mean_of_each(weight if share is None else share * weight)
        tilt = over(weight, mean) ** self.objective.weight_power
        if self.cells is not None:
            tilt = repeat_cells(tilt, self.cells)
        if share is None:
            return tilt
        if state.point_base is not None:
            share = over_mean(rows(state.point_base, ids))
        return tilt * share ** (1 / self.objective.loss_power)

    def mass(self, state: TiltState) -> Float[Array, " funcs"]:
        """The marginal over functions, with a share `floor` of the base."""
        return (1 - self.floor) * self.tilt(state) + self.floor * self.base(state)

    def base(self, state: TiltState) -> Float[Array, " funcs"]:
        """The base of each function."""
        return jnp.sum(flat(untilted(state)), axis=1)

    def tilt(self, state: TiltState) -> Float[Array, " funcs"]:
        """The marginal over functions."""
        weight = state.weight.astype(state.dtype)
        joint = weight if state.base is None else state.base * weight
        mass = jnp.sum(flat(joint), axis=1)
        return mass / jnp.sum(mass)

    def is_sampling(self) -> bool:
        """Functions are; their points are weighed."""
        return True

    def is_unbiased(self) -> bool:
        """No."""
        return False

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend."""
        power = self.objective.loss_power * self.objective.weight_power
        if power == 1:
            return self.objective.norm_text(self.potential, 1.0)
        return (
            "over the points of a function the "
            f"{self.objective.norm_text(self.potential, power)}, over functions the "
            f"{self.objective.norm_text(self.potential, 1.0)}"
        )


def flat(joint: Float[Array, "funcs *points"]) -> Float[Array, "funcs all_points"]:
    """One axis for all points of a function."""
    return joint.reshape(joint.shape[0], -1)


def over_mean(base: Float[Array, "funcs *points"]) -> Float[Array, "funcs *points"]:
    """The base as multiples of its mean in each function, one where that is zero."""
    return over(base, mean_of_each(base))


def mean_of_each(x: Float[Array, "funcs *points"]) -> Float[Array, "funcs *ones"]:
    """The mean over the points of each function."""
    return jnp.mean(x, axis=tuple(range(1, x.ndim)), keepdims=True)


def over(
    x: Float[Array, "funcs *points"], mean: Float[Array, "funcs *ones"]
) -> Float[Array, "funcs *points"]:
    """`x / mean`, one where the mean is zero."""
    return jnp.where(mean > 0, x / jnp.where(mean > 0, mean, 1), 1)


def check_digits(policy: Hybrid) -> None:
    """Refuse to keep weights in digits that their updates would be lost in."""
    name, smoothing = policy.weight_dtype, policy.smoothing
    if name is None:
        return
    if name not in _KEPT:
        raise InputError(
            f"`Hybrid(weight_dtype=...)` must be one of {', '.join(_KEPT)}, which a "
            f"checkpoint can hold, or None, got {name!r}."
        )
    digits = jnp.finfo(name)
    needed = 2 * float(digits.eps)
    if smoothing.least_step() < needed:
        raise InputError(
            f"`Hybrid(weight_dtype={name!r})` would lose updates: a weight moves by "
            f"{smoothing.least_step():.2g} of its way (`1 - memory`, the least that "
            f"{smoothing} comes to), and {name} needs {needed:.2g}. Forget faster, "
            f"`Smoothing(memory={1 - needed:.4g})` or less (a lower last cap or a "
            "higher rate if it grows), or leave `weight_dtype` out."
        )
    if smoothing.bound() > float(digits.max):
        raise InputError(
            f"`Hybrid(weight_dtype={name!r})` holds numbers up to {digits.max:.2g}, "
            f"but the weights of {smoothing} may reach {smoothing.bound():.2g}: take "
            "`is_normalised=True` and a lower rate, or leave `weight_dtype` out."
        )
