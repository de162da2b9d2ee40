"""The error of a function and of its slopes."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import InputError
from ._base import AbstractMisfit
from .relative import Relative


class Sobolev(AbstractMisfit):
    """The mean over functions of the relative H1 error: of the values and of the
    slopes along each axis, by differences, on one scale. For functions on a grid."""

    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        gaps: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid more_channels"]:
        """Differences of values and slopes, on the scale of those of the target."""
        if gaps is None:
            raise InputError(
                "`Sobolev` needs functions on an even grid: take `Relative` for others."
            )
        predicted, target = _with_slopes(predicted, gaps), _with_slopes(target, gaps)
        return Relative().residual(predicted, target, gaps)

    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid more_channels"],
    ) -> Float[Array, ""]:
        """The mean of norms."""
        return Relative().loss(weight, residual)


def _with_slopes(field, gaps):
    slopes = [
        jnp.asarray(jnp.gradient(field, axis=k + 1)) / gap for k, gap in enumerate(gaps)
    ]
    return jnp.concatenate([field, *slopes], axis=-1)
