"""What two shapes have in common."""

import numpy as np
from jaxtyping import Float

from ..core import InputError
from ._base import AbstractDomain
from ._combination import AbstractCombination
from ._patch import AbstractPatch, Bounding, Filtered, Fixed


class Intersection(AbstractCombination):
    """`first & second`: the points of both."""

    first: AbstractDomain
    second: AbstractDomain

    def bounds(self, coordinate: str) -> tuple[float, float]:
        """The inner of both."""
        one, two = self.first.bounds(coordinate), self.second.bounds(coordinate)
        lower, upper = max(one[0], two[0]), min(one[1], two[1])
        if lower >= upper:
            raise InputError(
                f"The intersection is empty: its parts do not meet in `{coordinate}`, "
                f"where they lie in {one} and {two}."
            )
        return lower, upper

    def depth(
        self, points: Float[np.ndarray, "points dim"]
    ) -> Float[np.ndarray, " points"]:
        """In the one it is less deep in."""
        return np.minimum(self.first.depth(points), self.second.depth(points))

    def inside(self, fixed: Fixed) -> AbstractPatch:
        """From one of both or the bounding box, whichever covers least besides."""
        parts = [Bounding(self, fixed), self.first.inside(fixed)]
        parts.append(self.second.inside(fixed))
        return Filtered(min(parts, key=lambda part: part.measure), self)
