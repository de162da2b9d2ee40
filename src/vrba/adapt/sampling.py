"""Residual-based sampling: points are drawn from the tilt, the loss is plain."""

import equinox as eqx
from jaxtyping import Array, Float

from ._pool import AbstractPoolPolicy, check_pool
from ._residual import ArrayOfIds
from ._tilt import check_settings
from ._tilt_state import TiltState
from .draws import AbstractDraw, Stratified
from .losses import AbstractLoss, SquaredLoss
from .potentials import AbstractPotential
from .smoothing import Smoothing
from .temperatures import AbstractTemperature, LogAnnealing
from .unbiased import Unbiased


class Sampling(AbstractPoolPolicy):
    """Draw points from the tilt, `p lambda / sum(p lambda)`, with a floor of the base.

    Weights are one, or `sqrt(p / q)` with `correction=Unbiased()`, which leaves the
    plain mean square as what is descended. Update the pool, then draw.
    """

    potential: AbstractPotential
    temperature: AbstractTemperature = LogAnnealing()
    smoothing: Smoothing = Smoothing(memory=0.7, rate=0.3, mix=0.8, is_normalised=False)
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
    ) -> Float[Array, " batch"]:
        """One, or the correction."""
        return self.correction_factor(state, ids)

    def mass(self, state: TiltState) -> Float[Array, " points"]:
        """The tilt, with a share `floor` of the base."""
        return self.floored_mass(state)

    def is_sampling(self) -> bool:
        """Yes."""
        return True

    def is_unbiased(self) -> bool:
        """If the correction undoes all of the tilt, or there is none."""
        return self._kept == 0 or self.potential.degree() == 1

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend."""
        return self.objective.norm_text(self.potential, self._kept)

    @property
    def _kept(self) -> float:
        """The power of the tilt that the correction leaves."""
        return 1.0 if self.correction is None else 1 - self.correction.strength
