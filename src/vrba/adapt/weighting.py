"""Residual-based weights: the loss is the mean of `(lambda R)**2`."""

import equinox as eqx
from jaxtyping import Array, Float

from ._pool import AbstractPoolPolicy, check_pool, rows
from ._residual import ArrayOfIds
from ._tilt import check_settings
from ._tilt_state import TiltState
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing
from .unbiased import Unbiased


class Weighting(AbstractPoolPolicy):
    """Weigh each residual by its tilt, smoothed in time; points come from the base.

    The loss is `mean((weights * R)**2)` and weights start at `smoothing.start()`. With
    `correction=Unbiased()` points are drawn from the tilt instead and the weights
    corrected for it: the same expected loss, from points where it matters. With
    `Unbiased(strength=0)` they are drawn so and not corrected.
    `scale_memory` above zero carries the scale of the tilt from batch to batch.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing()
    objective: AbstractLoss = eqx.field(default=SquaredLoss(), kw_only=True)
    correction: Unbiased | None = eqx.field(default=None, kw_only=True)
    draws: AbstractDraw = eqx.field(default=Stratified(), kw_only=True)
    floor: float = eqx.field(default=1e-3, converter=float, kw_only=True)
    scale_memory: float = eqx.field(default=0.0, converter=float, kw_only=True)

    def __check_init__(self):
        """The temperature must suit the potential."""
        check_settings(self)
        check_pool(self)

    def weights(
        self, state: TiltState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "batch *eqs"]:
        """`lambda`, to the power that the objective asks for."""
        power = self.objective.weight_power
        weight = rows(state.weight, ids)
        weight = weight if power == 1 else weight**power
        if self.correction is None:
            return weight
        factor = self.correction_factor(state, ids)
        return weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))

    def mass(self, state: TiltState) -> Float[Array, " points"]:
        """The base, or the tilt if there is a correction, of whatever strength."""
        if self.correction is None:
            return self.base(state)
        return self.floored_mass(state)

    def is_sampling(self) -> bool:
        """If there is a correction, of whatever strength."""
        return self.correction is not None

    def is_unbiased(self) -> bool:
        """No."""
        return False

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend."""
        power = self.objective.loss_power * self.objective.weight_power
        if self.correction is not None:  # what drawing from the tilt leaves of it
            power += 1 - self.correction.strength
        return self.objective.norm_text(self.potential, power)
