"""The correction that undoes the bias of drawing from the tilt."""

import equinox as eqx
from jaxtyping import Array, Float

from ..core import InputError


class Unbiased(eqx.Module):
    """Weigh drawn points by `p / q`, so that the expected loss is that of the base.

    With `Sampling` the plain mean square is estimated with points where it matters;
    with `Weighting` the weighted mean square is, from points drawn by the tilt instead
    of the base. `strength` below one undoes only a part: `(p / q)**strength`; zero
    undoes nothing: with `Weighting` points are then drawn by the weights that multiply
    their residuals, with `Sampling` it is the same as `correction=None`.
    """

    strength: float = eqx.field(default=1.0, converter=float)

    def __check_init__(self):
        """From nothing to all of it."""
        if not 0 <= self.strength <= 1:
            raise InputError(
                f"`Unbiased(strength=...)` must lie in [0, 1], got {self.strength}: 1 "
                "undoes all of the bias, 0 none."
            )

    def factor(
        self, base_over_tilt: Float[Array, " points"], loss_power: int
    ) -> Float[Array, " points"]:
        """What multiplies a weight that enters the loss with `loss_power`."""
        return base_over_tilt ** (self.strength / loss_power)
