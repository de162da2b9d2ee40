"""The relative L2 error."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractMisfit, mean_squares, root


class Relative(AbstractMisfit):
    """The mean over functions of `|lambda (u - target)|_2 / |target|_2`: all functions
    count the same, whatever their size."""

    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        gaps: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid channels"]:
        """The difference, on the scale of its target."""
        axes = tuple(range(1, target.ndim))
        square = jnp.mean(target**2, axis=axes, keepdims=True)
        return (predicted - target) / jnp.sqrt(jnp.where(square > 0, square, 1))

    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid channels"],
    ) -> Float[Array, ""]:
        """The mean of norms."""
        return jnp.mean(root(mean_squares(weight, residual)))
