"""One shape or another."""

import numpy as np
from jaxtyping import Float

from ._base import AbstractDomain
from ._combination import AbstractCombination
from ._patch import AbstractPatch, Bounding, Fixed


class Union(AbstractCombination):
    """`first | second`: the points of either."""

    first: AbstractDomain
    second: AbstractDomain

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The outer of both."""
        one, two = self.first.bounds(coordinate), self.second.bounds(coordinate)
        return min(one[0], two[0]), max(one[1], two[1])

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """In the one it is deeper in."""
        return np.maximum(self.first.depth(points), self.second.depth(points))

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """By rejection from the bounding box."""
        return Bounding(self, fixed)
