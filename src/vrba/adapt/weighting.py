"""Residual-based weights: the loss is the mean of `(lambda R)**2`."""

import equinox as eqx
from jaxtyping import Array, Float
from typing_extensions import override

from ._inputs import ArrayOfIds, follow_residual, rows
from ._pool_policy import AbstractPoolPolicy, check_pool
from ._tilt import TiltState
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing
from .unbiased import Unbiased


class Weighting(AbstractPoolPolicy):
    """Weight each residual by its tilt, smoothed in time; draw points from the base.

    The loss is `mean((weights * R)**2)`; `loss` computes it. Weights start at
    `smoothing.start()`. With `correction=Unbiased()` points are drawn from the tilt
    instead, and the weights corrected for it: the expected loss is the same. With
    `Unbiased(strength=0)` points are drawn from the tilt without correction.
    `scale_memory > 0` averages the scale of the tilt over batches.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing()
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)
    correction: Unbiased | None = eqx.field(default=None, kw_only=True)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    floor: float = eqx.field(default=1e-3, converter=float, kw_only=True, static=True)
    scale_memory: float = eqx.field(
        default=0.0, converter=float, kw_only=True, static=True
    )

    def __check_init__(self):
        check_pool(self)

    @override
    def weights(
        self, state: TiltState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "batch *eqs"]:
        """`lambda` to the power that the objective needs."""
        power = self.objective.weight_power
        weight = rows(state.weight, ids)
        weight = weight if power == 1 else weight**power
        if self.correction is not None:
            factor = self.correction_factor(state, ids)
            weight = weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))
        return follow_residual(weight, state.equation_axis)

    @override
    def mass(self, state: TiltState) -> Float[Array, " points"]:
        """The base, or the tilt if there is a correction of any strength."""
        if self.correction is None:
            return self.base(state)
        return self.floored_mass(state)

    @override
    def is_sampling(self) -> bool:
        return self.correction is not None

    @override
    def is_unbiased(self) -> bool:
        return False

    @override
    def objective_norm(self) -> str:
        power = self.objective.loss_power * self.objective.weight_power
        if self.correction is not None:  # the draw adds the rest
            power += 1 - self.correction.strength
        return self.objective.norm_text(self.potential, power)
