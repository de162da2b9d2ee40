"""Synthetic sensor data with noise, for inverse problems."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import InputError, check_count
from .conditions import Data


def check_sensors(num_places: int, num_times: int, noise: float, seed: int) -> None:
    """Raise unless the counts are positive, and noise and seed not negative."""
    check_count(num_places=num_places, num_times=num_times)
    if not 0 <= noise < np.inf:
        raise InputError(f"`noise` must be at least 0, got {noise}.")
    if seed < 0:
        raise InputError(f"`noise_seed` must be at least 0, got {seed}.")


def interior_points(lower: float | int, upper: float | int, count: int) -> np.ndarray:
    """Return equally spaced numbers between the ends, without them."""
    return np.linspace(lower, upper, count + 2)[1:-1]


def read_sensors(
    solution_fn: Callable[[Any, Any], Any],
    t: np.ndarray,
    x: np.ndarray,
    noise: float,
    seed: int,
) -> Data:
    """Return `solution_fn(t, x)`, an array of times by places, with Gaussian noise.

    The standard deviation is `noise` times the root mean square of the solution.
    """
    true = solution_fn(t, x)
    scale = noise * np.sqrt(np.mean(true**2))
    values = true + scale * np.random.default_rng(seed).standard_normal(true.shape)
    grid = np.meshgrid(t, x, indexing="ij")
    return Data(np.stack([np.ravel(g) for g in grid], axis=1), np.ravel(values))
