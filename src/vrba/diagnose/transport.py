"""How far points have to be moved to turn one distribution into another."""

import numpy as np
from jaxtyping import Array, Float

from ._probability import Numbers, as_probability


def wasserstein(
    points: Float[Array | np.ndarray, "points dim"],
    tilt: Numbers,
    base: Numbers | None = None,
) -> Float[np.ndarray, " dim"]:
    """For each coordinate the mean distance, in its own units, by which mass moves from
    the base to the tilt: the first Wasserstein distance of the marginals,
    `integral |F_q - F_p| dx`."""
    points = np.asarray(points, float)
    both = [as_probability(mass, len(points)) for mass in (tilt, base)]
    moved = both[0] - both[1]
    order = np.argsort(points, axis=0)
    places = np.take_along_axis(points, order, axis=0)
    surplus = np.cumsum(moved[order], axis=0)
    return np.sum(np.abs(surplus[:-1]) * np.diff(places, axis=0), axis=0)
