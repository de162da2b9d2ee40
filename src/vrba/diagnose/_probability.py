"""Masses as probabilities."""

import numpy as np
from jaxtyping import Array, Float

from ..core import InputError

Numbers = Float[Array | np.ndarray, " points"]


def as_probability(mass: Numbers | None, count: int) -> Float[np.ndarray, " points"]:
    """Any multiple of a probability brought to the sum one; uniform if not given."""
    found = np.ones(count) if mass is None else np.asarray(mass, float)
    if found.shape != (count,):
        raise InputError(
            f"A probability has shape {found.shape}, but there are {count} points."
        )
    total = np.sum(found)
    if not (np.all(found >= 0) and 0 < total < np.inf):
        raise InputError("A probability is finite, not negative and not all zero.")
    return found / total
