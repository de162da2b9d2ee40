"""The interface of an acceleration: how the residuals bend along a step."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ...core import flatten
from ..least_squares import AbstractLeastSquares, sum_over_blocks

Vector = Float[Array, " params"]
Rows = Float[Array, " rows"]


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


def pull_back(
    objective: AbstractLeastSquares,
    params: Any,
    second_fn: Callable[[Callable[[Vector], Rows], Vector], Rows],
) -> Vector:
    """`J'` times `second_fn(residual_fn, point)`, block by block."""
    point, rebuild = flatten(params)

    def block_pull(term, block):
        residual = lambda point: term.residual(rebuild(point), block)
        second = second_fn(residual, point)
        return jax.vjp(residual, point)[1](second)[0]

    return sum_over_blocks(objective, block_pull)
