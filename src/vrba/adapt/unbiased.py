"""The correction that removes the bias of sampling from the tilt."""

import equinox as eqx
from jaxtyping import Array, Float

from ..core import InputError


class Unbiased(eqx.Module):
    """Weight drawn points by `p / q`, so that the expected loss is that of the base.

    With `Sampling` the loss estimates the plain mean square by importance sampling.
    With `Weighting` it estimates the weighted mean square from points drawn from the
    tilt instead of the base. `strength` below one corrects partly:
    `(p / q)**strength`. `strength=0` corrects nothing: `Weighting` then draws points in
    proportion to their weights, and `Sampling` behaves as with `correction=None`.
    """

    strength: float = eqx.field(default=1.0, converter=float, static=True)

    def __check_init__(self):
        if not 0 <= self.strength <= 1:
            raise InputError(
                f"`Unbiased(strength=...)` must lie in [0, 1], got {self.strength}: 1 "
                "removes the whole bias, 0 nothing."
            )

    def factor(
        self, base_over_tilt: Float[Array, " points"], loss_power: int
    ) -> Float[Array, " points"]:
        """The factor of a weight that enters the loss with `loss_power`."""
        return base_over_tilt ** (self.strength / loss_power)
