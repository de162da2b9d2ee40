"""Whether the terms of a loss pull the same way."""

import numpy as np
from jaxtyping import Array, Float


def align(
    gradients: Float[Array | np.ndarray, "terms params"],
) -> Float[np.ndarray, "terms terms"]:
    """The cosine of the angle between each two gradients: 1 the same way, 0 unrelated,
    -1 against each other; 0 for a gradient of zero."""
    rows = np.asarray(gradients, float)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1)
    return np.clip(rows @ rows.T, -1, 1)
