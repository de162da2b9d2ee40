"""Skip an update whose curvature is too small or negative."""

import jax.numpy as jnp
from jaxtyping import Array, Bool

from ...core import InputError
from ..updates import Secant
from ._base import AbstractCurvature


class Skip(AbstractCurvature):
    """Use a secant only if `y's > threshold s'Bs`, and if `y's` is not round-off."""

    threshold: float = 1e-10

    def __check_init__(self):
        """Settings in range."""
        if not 0 <= self.threshold < 1:
            raise InputError(
                f"`threshold` must be at least 0 and below 1, got {self.threshold}."
            )

    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        """The same secant, and whether it curves enough."""
        return secant, is_usable(secant, self.threshold)


def is_usable(secant: Secant, threshold: float) -> Bool[Array, ""]:
    """Whether `y's` and `y'Hy` are positive, finite and above round-off."""
    lengths = jnp.linalg.norm(secant.gradient_change) * jnp.linalg.norm(secant.step)
    digits = jnp.finfo(secant.step.dtype).eps * lengths
    curvature, inverse = secant.curvature, secant.inverse_curvature
    is_good = curvature > jnp.maximum(digits, threshold * secant.hessian_curvature)
    return is_good & (inverse > 0) & jnp.isfinite(curvature) & jnp.isfinite(inverse)
