"""Losses: what is tilted, how weights enter, and which norm is minimised."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from .potentials import AbstractPotential


class AbstractLoss(eqx.Module):
    """The tilt of `|R|**size_power` gives `lambda`; a weight is `lambda**weight_power`.

    The loss is the mean of `|weight * R|**loss_power` with constant weights;
    `loss_power` is one or two.
    """

    size_power: eqx.AbstractClassVar[int]
    weight_power: eqx.AbstractClassVar[float]
    loss_power: eqx.AbstractClassVar[int]

    def mean(
        self, weight: Float[Array, "*points"], residual: Num[Array, "*points_and_eqs"]
    ) -> Float[Array, ""]:
        """The mean of `|weight * R|**loss_power`; equations share a point's weight.

        Squares are averaged over equations too. The first power applies to the norm
        over equations.
        """
        if not jnp.issubdtype(residual.dtype, jnp.inexact):
            residual = residual.astype(weight.dtype)
        num_more = residual.ndim - weight.ndim
        weight = weight.reshape(*weight.shape, *(1,) * num_more)
        weighted = weight.astype(residual.real.dtype) * residual
        if self.loss_power == 1 and num_more == 0:
            return jnp.mean(jnp.abs(weighted))
        square = jnp.real(weighted * jnp.conj(weighted))
        if self.loss_power == 2:
            return jnp.mean(square)
        square = jnp.sum(square, axis=tuple(range(-num_more, 0)))
        root = jnp.sqrt(jnp.where(square > 0, square, 1))
        return jnp.mean(jnp.where(square > 0, root, 0))

    def minimised_exponent(self, degree: float, lambda_power: float) -> float:
        """The `p` of the L^p norm that is minimised, for a potential `s**degree`.

        Without memory or mix `lambda` is `|R|**(size_power * (degree - 1))`. If the
        loss contains `lambda**lambda_power`, its gradient is the mean of
        `lambda**lambda_power |R|**(loss_power - 1)` times the gradient of `|R|`.
        Integration adds one to the exponent.
        """
        return lambda_power * self.size_power * (degree - 1) + self.loss_power

    def norm_text(self, potential: AbstractPotential, lambda_power: float) -> str:
        """Name what is minimised if the loss contains `lambda**lambda_power`."""
        degree = 1.0 if lambda_power == 0 else potential.degree()
        if degree is not None:
            return f"L{self.minimised_exponent(degree, lambda_power):g} norm"
        size = "r" if self.size_power == 1 else f"r**{self.size_power}"
        slope = f"phi'({size} / T)"
        slope = slope if lambda_power == 1 else f"{slope}**{lambda_power:g}"
        factor = "" if self.loss_power == 1 else "r "
        return f"mean of Psi(r) with Psi'(r) = {factor}{slope}, phi = {potential}"


class SquaredLoss(AbstractLoss):
    """`mean((lambda R)**2)`, or the plain mean square of drawn points, as published.

    With a tilt proportional to the residual, weighting minimises the L4 norm and
    sampling the L3 norm.
    """

    size_power: ClassVar[int] = 1
    weight_power: ClassVar[float] = 1.0
    loss_power: ClassVar[int] = 2


class ExactSquaredLoss(AbstractLoss):
    """`mean(lambda R**2)` with the tilt of `R**2`: minimises the risk of `R**2`.

    Weighting and sampling then minimise the same functional.
    """

    size_power: ClassVar[int] = 2
    weight_power: ClassVar[float] = 0.5
    loss_power: ClassVar[int] = 2


class FirstPowerLoss(AbstractLoss):
    """`mean(lambda |R|)`: minimises the risk of `|R|`, for powers the L^p norm.

    It is not smooth where the residual is zero.
    """

    size_power: ClassVar[int] = 1
    weight_power: ClassVar[float] = 1.0
    loss_power: ClassVar[int] = 1
