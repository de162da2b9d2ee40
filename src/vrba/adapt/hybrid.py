"""For operators: sample functions and weight points by their residuals."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError, float_dtype
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    as_shape,
    check_base,
    follow_residual,
    no_equation_axis,
    rows,
)
from ._shared_weights import as_cells, cell_shape, repeat_cells, sum_cells
from ._tilt import (
    AbstractTilting,
    TiltState,
    base_of,
    check_settings,
    checked,
    init_tilt,
    update_tilt,
)
from .draws import AbstractDraw, WithoutReplacement
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .scores import AbstractScore, JointScore
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing

_WEIGHT_DTYPES = ("float16", "float32", "float64")


class Hybrid(AbstractTilting):
    """One joint tilt over functions and points.

    Functions are drawn from its marginal over functions. Its conditional over a
    function's points gives the weights, of mean one in every function. Residuals are
    `[funcs, points...]` with any number of axes of points, and optionally one axis of
    channels; ids are those of functions.

    By default each point has a weight. `cells` sets how many points along each axis
    share one: with `(32, 32, 1)` a function on a grid of 32 x 32 has one weight for
    each time. The size of a cell is the root mean square of its sizes.
    `weight_dtype="float16"` stores weights in half the memory; arithmetic uses the
    dtype of the run. The rounding error is at most `eps / (2 (1 - memory))` of the
    largest weight: 5 % with the usual memory of 0.99.
    """

    has_point_weights: ClassVar[bool] = True
    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing(memory=0.99, rate=0.1)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)
    score: AbstractScore = eqx.field(default=JointScore(), kw_only=True)
    draws: AbstractDraw = eqx.field(default=WithoutReplacement(), kw_only=True)
    floor: float = eqx.field(default=1e-3, converter=float, kw_only=True, static=True)
    scale_memory: float = eqx.field(
        default=0.0, converter=float, kw_only=True, static=True
    )
    cells: tuple[int, ...] | None = eqx.field(
        default=None, converter=as_cells, static=True, kw_only=True
    )
    weight_dtype: str | None = eqx.field(default=None, static=True, kw_only=True)
    separate_axis: ClassVar[int] = 0

    def __check_init__(self):
        check_settings(self)
        check_weight_dtype(self)

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> TiltState:
        """Make equal weights for `(num_funcs, num_points, ...)`.

        `num_points` and `base` have full resolution, also if points share weights.
        """
        shape = as_shape(num_points)
        if len(shape) < 2:
            raise InputError(
                f"`Hybrid.init` needs `(num_funcs, num_points, ...)`, got {num_points}."
            )
        dtype = float_dtype(dtype)
        stored = dtype if self.weight_dtype is None else float_dtype(self.weight_dtype)
        point_base = None
        if self.cells is not None:
            coarse = cell_shape(shape, self.cells)
            if base is not None:
                point_base = check_base(base, shape, dtype)
                base = sum_cells(point_base, self.cells)
            shape = coarse
        return init_tilt(
            self.smoothing,
            shape,
            base,
            no_equation_axis(),
            dtype,
            self.score.separate_axis(),
            stored,
            point_base,
        )

    def update_through(
        self, state: TiltState, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> TiltState:
        """`update` with gradients through the weights to the residual.

        The published code for operators does this.
        """
        return update_tilt(self, state, *checked(self, state, residual, ids), None)

    def weights_bytes(self, state: TiltState) -> int:
        """The memory of the weights in bytes."""
        return state.weight.nbytes

    @override
    def weights(
        self, state: TiltState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "..."]:
        """The conditional tilt over each function's points, of mean one.

        A base that is not uniform over points is included, because the loss is a plain
        mean. A function whose weights or base are all zero gets weights of one.
        """
        weight = rows(state.weight, ids).astype(state.dtype)
        share = None if state.base is None else relative_base(rows(state.base, ids))
        mean = mean_of_each(weight if share is None else share * weight)
        tilt = divide(weight, mean) ** self.objective.weight_power
        if self.cells is not None:
            tilt = repeat_cells(tilt, self.cells)
        if share is not None:
            if state.point_base is not None:
                share = relative_base(rows(state.point_base, ids))
            tilt = tilt * share ** (1 / self.objective.loss_power)
        return follow_residual(tilt, state.equation_axis)

    @override
    def mass(self, state: TiltState) -> Float[Array, " funcs"]:
        """The marginal over functions, mixed with a share `floor` of the base."""
        return (1 - self.floor) * self.tilt(state) + self.floor * self.base(state)

    @override
    def base(self, state: TiltState) -> Float[Array, " funcs"]:
        return jnp.sum(flat(base_of(state)), axis=1)

    @override
    def tilt(self, state: TiltState) -> Float[Array, " funcs"]:
        weight = state.weight.astype(state.dtype)
        joint = weight if state.base is None else state.base * weight
        mass = jnp.sum(flat(joint), axis=1)
        return mass / jnp.sum(mass)

    @override
    def is_sampling(self) -> bool:
        """True: functions are drawn; their points are weighted."""
        return True

    @override
    def is_unbiased(self) -> bool:
        return False

    @override
    def objective_norm(self) -> str:
        power = self.objective.loss_power * self.objective.weight_power
        if power == 1:
            return self.objective.norm_text(self.potential, 1.0)
        return (
            "over the points of a function the "
            f"{self.objective.norm_text(self.potential, power)}, over functions the "
            f"{self.objective.norm_text(self.potential, 1.0)}"
        )


def flat(joint: Float[Array, "funcs *points"]) -> Float[Array, "funcs all_points"]:
    """Flatten all axes of points into one."""
    return joint.reshape(joint.shape[0], -1)


def relative_base(base: Float[Array, "funcs *points"]) -> Float[Array, "funcs *points"]:
    """The base divided by its mean in each function; one where the mean is zero."""
    return divide(base, mean_of_each(base))


def mean_of_each(x: Float[Array, "funcs *points"]) -> Float[Array, "funcs *ones"]:
    """The mean over the points of each function."""
    return jnp.mean(x, axis=tuple(range(1, x.ndim)), keepdims=True)


def divide(
    x: Float[Array, "funcs *points"], mean: Float[Array, "funcs *ones"]
) -> Float[Array, "funcs *points"]:
    """`x / mean`, one where the mean is zero."""
    return jnp.where(mean > 0, x / jnp.where(mean > 0, mean, 1), 1)


def check_weight_dtype(policy: Hybrid) -> None:
    """Raise `InputError` if updates of the weights would be lost in rounding."""
    name, smoothing = policy.weight_dtype, policy.smoothing
    if name is None:
        return
    if name not in _WEIGHT_DTYPES:
        raise InputError(
            f"`Hybrid(weight_dtype=...)` must be one of {', '.join(_WEIGHT_DTYPES)} or "
            f"None, got {name!r}."
        )
    digits = jnp.finfo(name)
    needed = 2 * float(digits.eps)
    if smoothing.least_step() < needed:
        raise InputError(
            f"`Hybrid(weight_dtype={name!r})` would lose updates: the least `1 - "
            f"memory` of {smoothing} is {smoothing.least_step():.2g}, but {name} needs "
            f"{needed:.2g}. Use `Smoothing(memory={1 - needed:.4g})` or less (for a "
            "growing cap, a lower last cap or a higher rate), or omit `weight_dtype`."
        )
    if smoothing.bound() > float(digits.max):
        raise InputError(
            f"`Hybrid(weight_dtype={name!r})` stores numbers up to {digits.max:.2g}, "
            f"but the weights of {smoothing} may reach {smoothing.bound():.2g}. Use "
            "`is_normalised=True` and a lower rate, or omit `weight_dtype`."
        )
