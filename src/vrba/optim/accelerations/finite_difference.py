"""The second derivative along a step, by a difference of first order."""

from typing import Any, ClassVar

import jax

from ...core import InputError
from ..least_squares import AbstractLeastSquares, pull_back
from ._base import AbstractAcceleration, Vector


class FiniteDifference(AbstractAcceleration):
    """`r_vv = (2/h) [(r(p + h v) - r(p))/h - J v]`.

    With `h` of a tenth it sees the bend over a part of the step, not at a point,
    which is what the step will meet.
    """

    num_evaluations: ClassVar[int] = 1

    h: float = 0.1

    def __check_init__(self):
        """Settings in range."""
        if not 0 < self.h <= 1:
            raise InputError(f"`h` must be between 0 and 1, got {self.h}.")

    def pull(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        """`J' r_vv`."""

        def second(residual, point):
            here, along = jax.jvp(residual, (point,), (velocity,))
            there = residual(point + self.h * velocity)
            return (2 / self.h) * ((there - here) / self.h - along)

        return pull_back(objective, params, second)
