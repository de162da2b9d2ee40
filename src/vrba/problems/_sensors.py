"""What sensors at fixed places read, with noise."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import InputError, check_count
from .conditions import Data


def check_sensors(num_places: int, num_times: int, noise: float, seed: int) -> None:
    """Counts are positive, noise and its seed not negative."""
    check_count(num_places=num_places, num_times=num_times)
    if not 0 <= noise < np.inf:
        raise InputError(f"`noise` must be at least 0, got {noise}.")
    if seed < 0:
        raise InputError(f"`noise_seed` must be at least 0, got {seed}.")


def between(lower: float | int, upper: float | int, count: int) -> np.ndarray:
    """Evenly spread numbers, without the ends."""
    return np.linspace(lower, upper, count + 2)[1:-1]


def read_sensors(
    truth_fn: Callable[[Any, Any], Any],
    t: np.ndarray,
    x: np.ndarray,
    noise: float,
    seed: int,
) -> Data:
    """`truth_fn(t, x)`, an array of times by places, plus Gaussian noise of `noise`
    times its root mean square."""
    true = truth_fn(t, x)
    scale = noise * np.sqrt(np.mean(true**2))
    values = true + scale * np.random.default_rng(seed).standard_normal(true.shape)
    grid = np.meshgrid(t, x, indexing="ij")
    return Data(np.stack([np.ravel(g) for g in grid], axis=1), np.ravel(values))
