"""The interface of a misfit."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractMisfit(eqx.Module):
    """From predictions and targets to residuals, and from weighed residuals to a loss.

    Residuals are what a policy sees: `[funcs, points..., channels]`, where channels may
    be more than those of the functions.
    """

    @abc.abstractmethod
    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        gaps: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid more_channels"]:
        """What is to become zero; `gaps` lie between points along each axis of a grid,
        in the network's units."""

    @abc.abstractmethod
    def loss(
        self,
        weight: Float[Array, "funcs *grid"],
        residual: Float[Array, "funcs *grid more_channels"],
    ) -> Float[Array, ""]:
        """Of a batch, with weights that are held fixed."""


def mean_squares(
    weight: Float[Array, "funcs *_"], residual: Float[Array, "funcs *grid channels"]
) -> Float[Array, " funcs"]:
    """The mean of `(weight * residual)**2` of each function; one weight for a function
    or one for each of its points."""
    num_more = residual.ndim - weight.ndim
    weighed = weight.reshape(*weight.shape, *(1,) * num_more) * residual
    return jnp.mean(weighed**2, axis=tuple(range(1, residual.ndim)))


def root(square: Float[Array, " funcs"]) -> Float[Array, " funcs"]:
    """The square root, with a gradient of zero at zero."""
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
