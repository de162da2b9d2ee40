"""Fair timing of alternatives: compiled beforehand, taking turns, medians."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def time_together(
    cases: dict[str, Callable[[], Any]], rounds: int = 20, repeats: int = 10
) -> dict[str, float]:
    """Median seconds of each case; they take turns, so that noise hits all alike."""
    for case in cases.values():
        jax.block_until_ready(case())
    seconds = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            for _ in range(repeats):
                start = time.perf_counter()
                jax.block_until_ready(case())
                seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}
