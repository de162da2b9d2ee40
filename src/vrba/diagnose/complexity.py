"""How rough a learnt function is."""

import numpy as np
from jaxtyping import Array, Float


def geometric_complexity(
    gradients: Float[Array | np.ndarray, "points fields dim"],
) -> float:
    """The mean over points of the squared length of the gradient by the coordinates,
    summed over fields: the Dirichlet energy per volume (Dherin et al. 2022)."""
    squares = np.square(np.asarray(gradients, float))
    return float(np.mean(np.sum(squares, axis=(1, 2))))
