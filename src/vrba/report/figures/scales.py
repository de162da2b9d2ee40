"""Scales for sizes over many orders."""

import numpy as np
from matplotlib.colors import LogNorm

_DECADES = 4  # below the largest value


def log_sizes(values: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, LogNorm]:
    """The sizes of some values and a logarithmic scale for them; zero, which has no
    logarithm, becomes the smallest value of the scale. Differences of values of size
    `scale` are never resolved beyond rounding."""
    size = np.abs(values)
    rounding = np.finfo(float).eps * (scale or 1.0)
    largest = float(np.max(size[np.isfinite(size)], initial=rounding))
    smallest = largest / 10.0**_DECADES
    return np.maximum(size, smallest), LogNorm(smallest, largest)


def is_wide(values: np.ndarray) -> bool:
    """Whether values are positive and spread over more than an order."""
    known = values[np.isfinite(values)]
    return bool(known.size and np.min(known) > 0 and np.max(known) > 10 * np.min(known))
