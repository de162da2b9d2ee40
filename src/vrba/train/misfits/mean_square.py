"""The mean square error."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractMisfit, mean_squares


class MeanSquare(AbstractMisfit):
    """`mean((lambda (u - target))**2)` over functions and points: large functions count
    more than small ones."""

    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        gaps: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid channels"]:
        """The difference."""
        return predicted - target

    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid channels"],
    ) -> Float[Array, ""]:
        """The mean over functions."""
        return jnp.mean(mean_squares(weight, residual))
