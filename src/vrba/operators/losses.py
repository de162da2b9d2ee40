"""Losses of predicted functions."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError


class AbstractFunctionLoss(eqx.Module):
    """From predictions and targets to residuals, and from weighted residuals to a loss.

    The policy sees the residuals `[funcs, points..., channels]`. They may have more
    channels than the functions.
    """

    @abc.abstractmethod
    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        spacings: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid more_channels"]:
        """The residual; `spacings` is the distance of grid points along each axis in
        the network's units."""

    @abc.abstractmethod
    def loss(
        self,
        weight: Float[Array, "funcs *grid"],
        residual: Float[Array, "funcs *grid more_channels"],
    ) -> Float[Array, ""]:
        """The loss of a batch, with weights held fixed."""


class MeanSquare(AbstractFunctionLoss):
    """`mean((lambda (u - target))**2)` over functions and points.

    Large functions count more than small ones.
    """

    @override
    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        spacings: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid channels"]:
        return predicted - target

    @override
    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid channels"],
    ) -> Float[Array, ""]:
        return jnp.mean(_mean_squares(weight, residual))


class Relative(AbstractFunctionLoss):
    """The mean over functions of `|lambda (u - target)|_2 / |target|_2`.

    All functions count equally, whatever their size.
    """

    @override
    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        spacings: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid channels"]:
        """The difference divided by the root mean square of its target."""
        axes = tuple(range(1, target.ndim))
        square = jnp.mean(target**2, axis=axes, keepdims=True)
        return (predicted - target) / jnp.sqrt(jnp.where(square > 0, square, 1))

    @override
    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid channels"],
    ) -> Float[Array, ""]:
        return jnp.mean(_root(_mean_squares(weight, residual)))


class Sobolev(AbstractFunctionLoss):
    """The mean over functions of the relative H1 error, for functions on a grid.

    Values and gradients, by finite differences, share one scale.
    """

    @override
    def residual(
        self,
        predicted: Float[Array, "funcs *grid channels"],
        target: Float[Array, "funcs *grid channels"],
        spacings: tuple[float, ...] | None,
    ) -> Float[Array, "funcs *grid more_channels"]:
        if spacings is None:
            raise InputError(
                "`Sobolev` needs functions on a regular grid: use `Relative` for "
                "others."
            )
        predicted = _with_gradient(predicted, spacings)
        target = _with_gradient(target, spacings)
        return Relative().residual(predicted, target, spacings)

    @override
    def loss(
        self,
        weight: Float[Array, "funcs *_"],
        residual: Float[Array, "funcs *grid more_channels"],
    ) -> Float[Array, ""]:
        return Relative().loss(weight, residual)


def _mean_squares(
    weight: Float[Array, "funcs *_"], residual: Float[Array, "funcs *grid channels"]
) -> Float[Array, " funcs"]:
    """The mean of `(weight * residual)**2` of each function; a weight belongs to a
    function or to one of its points."""
    num_more = residual.ndim - weight.ndim
    weighted = weight.reshape(*weight.shape, *(1,) * num_more) * residual
    return jnp.mean(weighted**2, axis=tuple(range(1, residual.ndim)))


def _root(square: Float[Array, " funcs"]) -> Float[Array, " funcs"]:
    """The square root, with a gradient of zero at zero."""
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


def _with_gradient(
    field: Float[Array, "funcs *grid channels"], spacings: tuple[float, ...]
) -> Float[Array, "funcs *grid more_channels"]:
    gradients = [
        jnp.asarray(jnp.gradient(field, axis=k + 1)) / spacing
        for k, spacing in enumerate(spacings)
    ]
    return jnp.concatenate([field, *gradients], axis=-1)
