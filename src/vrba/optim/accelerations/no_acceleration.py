"""Plain Levenberg-Marquardt."""

from typing import Any, ClassVar

import jax.numpy as jnp

from ..least_squares import AbstractLeastSquares
from ._base import AbstractAcceleration, Vector


class NoAcceleration(AbstractAcceleration):
    """No correction of second order."""

    num_evaluations: ClassVar[int] = 0

    def pull(
        self, objective: AbstractLeastSquares, params: Any, velocity: Vector
    ) -> Vector:
        """Zero."""
        return jnp.zeros_like(velocity)
