"""A shape without another."""

import numpy as np
from jaxtyping import Float

from ._base import AbstractDomain
from ._combination import AbstractCombination
from ._patch import AbstractPatch, Filtered, Fixed


class Difference(AbstractCombination):
    """`first - second`: the points of the first that are not inside the second."""

    first: AbstractDomain
    second: AbstractDomain

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """Those of the first."""
        return self.first.bounds(coordinate)

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """In the first, or out of the second, whichever is less."""
        return np.minimum(self.first.depth(points), -self.second.depth(points))

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """By rejection from the first."""
        return Filtered(self.first.inside(fixed), self)
