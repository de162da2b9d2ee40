"""The second derivative along a step, exactly."""

from typing import Any, ClassVar

import jax

from ..least_squares import AbstractLeastSquares, pull_back
from ._base import AbstractAcceleration, Vector


class ExactSecond(AbstractAcceleration):
    """`r_vv` by differentiating twice, forwards."""

    num_evaluations: ClassVar[int] = 1

    def pull(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        """`J' r_vv`."""

        def second(residual, point):
            slope = lambda p: jax.jvp(residual, (p,), (velocity,))[1]
            return jax.jvp(slope, (point,), (velocity,))[1]

        return pull_back(objective, params, second)
