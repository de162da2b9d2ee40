"""The interface of an acceleration: how the residuals bend along a step."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from ..least_squares import AbstractLeastSquares

Vector = Float[Array, " params"]


class AbstractAcceleration(eqx.Module):
    """Gives `J' r_vv`, with `r_vv` the second derivative of the residuals along `v`.

    A Gauss-Newton step `v` is the velocity of a geodesic; its acceleration
    `-(J'J + damping I)^-1 J' r_vv` is the correction of second order, halved.
    (Transtrum and Sethna 2012)
    """

    num_evaluations: eqx.AbstractClassVar[int]

    @abc.abstractmethod
    def pull(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        """`J' r_vv`."""
