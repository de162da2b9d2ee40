"""What sensors at fixed places read, with noise."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import check_count
from ..domains import AbstractDomain
from .conditions import Data


def check_sensors(num_places: int, num_times: int, noise: float) -> None:
    """Counts are positive, noise is not negative."""
    check_count(num_places=num_places, num_times=num_times)
    if not 0 <= noise < np.inf:
        raise ValueError(f"`noise` must be at least 0, got {noise}.")


def read_sensors(
    domain: AbstractDomain,
    truth_fn: Callable[[Any, Any], Any],
    num_places: int,
    num_times: int,
    noise: float,
    seed: int,
) -> Data:
    """`truth_fn(t, x)`, an array of times by places, at places and times evenly spread
    inside, plus Gaussian noise of `noise` times its root mean square."""
    inside = lambda name, count: np.linspace(*domain.bounds(name), count + 2)[1:-1]
    t, x = inside("t", num_times), inside("x", num_places)
    true = truth_fn(t, x)
    scale = noise * np.sqrt(np.mean(true**2))
    values = true + scale * np.random.default_rng(seed).standard_normal(true.shape)
    grid = np.meshgrid(t, x, indexing="ij")
    return Data(np.stack([np.ravel(g) for g in grid], axis=1), np.ravel(values))
