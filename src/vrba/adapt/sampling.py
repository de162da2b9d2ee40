"""Residual-based sampling: points are drawn from the tilt, without weights."""

import equinox as eqx
from jaxtyping import Array, Float
from typing_extensions import override

from ._inputs import ArrayOfIds, follow_residual
from ._pool_policy import AbstractPoolPolicy, check_pool
from ._tilt import TiltState
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing
from .unbiased import Unbiased


class Sampling(AbstractPoolPolicy):
    """Draw points from the tilt `p lambda / sum(p lambda)`, mixed with `floor` base.

    Weights are one. With `correction=Unbiased()` they are `sqrt(p / q)`, and the plain
    mean square is minimised. Update the whole pool, then draw.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing(memory=0.7, rate=0.3, mix=0.8, is_normalised=False)
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
    ) -> Float[Array, "..."]:
        """One, or the correction."""
        factor = self.correction_factor(state, ids)
        return follow_residual(factor, state.equation_axis)

    @override
    def mass(self, state: TiltState) -> Float[Array, " points"]:
        return self.floored_mass(state)

    @override
    def is_sampling(self) -> bool:
        return True

    @override
    def is_unbiased(self) -> bool:
        """True if there is no tilt, or the correction removes the whole bias."""
        return self._tilt_power == 0 or self.potential.degree() == 1

    @override
    def objective_norm(self) -> str:
        return self.objective.norm_text(self.potential, self._tilt_power)

    @property
    def _tilt_power(self) -> float:
        """The power of the tilt that remains after the correction."""
        return 1.0 if self.correction is None else 1 - self.correction.strength
