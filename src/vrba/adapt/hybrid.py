"""For operators: hard functions are drawn more often, hard places weigh more."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._pool import check_floor, rows
from ._residual import ArrayOfIds, as_shape
from ._tilt import (
    AbstractTilting,
    TiltState,
    check_settings,
    init_tilt,
    untilted,
)
from .draws import AbstractDraw, WithoutReplacement
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .scores import AbstractScore, JointScore
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing


class Hybrid(AbstractTilting):
    """One tilt over functions and points, taken apart.

    Its marginal over functions is what functions are drawn from; its conditional over a
    function's points gives the weights, of mean one in every function. Residuals are
    `[funcs, points...]` with any number of axes of points; ids are those of functions.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing(memory=0.99, rate=0.1)
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)
    score: AbstractScore = eqx.field(default=JointScore(), kw_only=True)
    draws: AbstractDraw = eqx.field(default=WithoutReplacement(), kw_only=True)
    floor: float = eqx.field(default=1e-3, converter=float, kw_only=True)
    scale_memory: float = eqx.field(default=0.0, converter=float, kw_only=True)

    def __check_init__(self):
        """The temperature must suit the potential."""
        check_settings(self)
        check_floor(self)

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> TiltState:
        """Equal weights for `(num_funcs, num_points, ...)`."""
        shape = as_shape(num_points)
        if len(shape) < 2:
            raise ValueError(
                f"`Hybrid.init` needs `(num_funcs, num_points, ...)`, got {num_points}."
            )
        return init_tilt(self, shape, base, dtype, self.score.separate_axis())

    def separate_axis(self, state: TiltState) -> int | None:
        """Functions, if the score wants each on its own scale."""
        del state
        return self.score.separate_axis()

    def weights(
        self, state: TiltState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "funcs *points"]:
        """The conditional tilt over each function's points, of mean one.

        A base that is not uniform over points enters too, as the loss is a plain mean.
        A function without weight or base gets weights of one.
        """
        weight, base = rows(state.weight, ids), rows(untilted(state), ids)
        axes = tuple(range(1, weight.ndim))
        share = over(base, jnp.mean(base, axis=axes, keepdims=True))
        mean = jnp.mean(share * weight, axis=axes, keepdims=True)
        tilt = over(weight, mean) ** self.objective.weight_power
        return tilt * share ** (1 / self.objective.loss_power)

    def mass(self, state: TiltState) -> Float[Array, " funcs"]:
        """The marginal over functions, with a share `floor` of the base."""
        return (1 - self.floor) * self.tilt(state) + self.floor * self.base(state)

    def base(self, state: TiltState) -> Float[Array, " funcs"]:
        """The base of each function."""
        return jnp.sum(flat(untilted(state)), axis=1)

    def tilt(self, state: TiltState) -> Float[Array, " funcs"]:
        """The marginal over functions."""
        joint = state.weight if state.base is None else state.base * state.weight
        mass = jnp.sum(flat(joint), axis=1)
        return mass / jnp.sum(mass)

    def is_sampling(self) -> bool:
        """Functions are; their points are weighed."""
        return True

    def descends(self) -> str:
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


def over(
    x: Float[Array, "funcs *points"], mean: Float[Array, "funcs *ones"]
) -> Float[Array, "funcs *points"]:
    """`x / mean`, one where the mean is zero."""
    return jnp.where(mean > 0, x / jnp.where(mean > 0, mean, 1), 1)
