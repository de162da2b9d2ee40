"""Accelerations: the second-order correction of a Gauss-Newton step."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError
from .objectives import AbstractLeastSquares, pull_back

Vector = Float[Array, " params"]


class AbstractAcceleration(eqx.Module):
    """Computes `J' r_vv`; `r_vv` is the second derivative of the residuals along `v`.

    A Gauss-Newton step `v` is the velocity of a geodesic. Half of its acceleration
    `-(J'J + damping I)^-1 J' r_vv` is the second-order correction. (Transtrum and
    Sethna 2012)
    """

    num_evaluations: eqx.AbstractClassVar[int]

    @abc.abstractmethod
    def second_order_term(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        """Return `J' r_vv` for the velocity `v`."""


class FiniteDifference(AbstractAcceleration):
    """`r_vv = (2/h) [(r(p + h v) - r(p))/h - J v]`.

    With `h = 0.1` it averages the second derivative over a part of the step, instead
    of taking it at one point.
    """

    num_evaluations: ClassVar[int] = 1

    h: float = 0.1

    def __check_init__(self):
        """Check that `h` is in range."""
        if not 0 < self.h <= 1:
            raise InputError(f"`h` must be above 0 and at most 1, got {self.h}.")

    @override
    def second_order_term(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        def second_derivative(residual, point):
            here, along = jax.jvp(residual, (point,), (velocity,))
            there = residual(point + self.h * velocity)
            return (2 / self.h) * ((there - here) / self.h - along)

        return pull_back(objective, params, second_derivative)


class ExactSecond(AbstractAcceleration):
    """`r_vv` by automatic differentiation, twice in forward mode."""

    num_evaluations: ClassVar[int] = 1

    @override
    def second_order_term(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        def second_derivative(residual, point):
            first = lambda p: jax.jvp(residual, (p,), (velocity,))[1]
            return jax.jvp(first, (point,), (velocity,))[1]

        return pull_back(objective, params, second_derivative)


class NoAcceleration(AbstractAcceleration):
    """No second-order correction: plain Levenberg-Marquardt."""

    num_evaluations: ClassVar[int] = 0

    @override
    def second_order_term(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        return jnp.zeros_like(velocity)
