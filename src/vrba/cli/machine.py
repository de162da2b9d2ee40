"""How many runs a machine can make at once, and what share of it each gets."""

import dataclasses
import math
import os
from pathlib import Path

import numpy as np

from ..data import Pairs
from ..optim import Adam, FromOptax
from ..problems import Formulation, Problem
from ..train import OperatorRecipe, Recipe, Trainer

_PROGRAM_BYTES = 700e6  # Python with JAX and what it compiles
_MATRICES = 10  # that a second-order step holds at once
_ROWS = 100  # numbers for each point of the pool: derivatives, residuals, tilt
_LAYERS = 500  # numbers for each point of a batch: channels of layers, there and back
_USED_MEMORY = 0.8  # of what is free; the rest is for other programs
_THREAD_SETTINGS = (
    "NPROC",  # XLA
    "PJRT_NPROC",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def num_cores() -> int:
    """The cores that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_jobs(num_runs: int, bytes_of_run: float) -> int:
    """As many runs at once as there are cores for, and memory."""
    fitting = int(_USED_MEMORY * free_bytes() / bytes_of_run)
    return max(1, min(num_runs, num_cores(), fitting))


def share_of_cores(jobs: int) -> int:
    """The threads of each of so many runs."""
    return max(1, num_cores() // jobs)


def environment(num_threads: int) -> dict[str, str]:
    """What keeps a program to its share. It compiles all by itself: what an earlier one
    has left would be time that the others have to spend."""
    limits = dict.fromkeys(_THREAD_SETTINGS, str(num_threads))
    kept = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    return kept | limits


def bytes_of_run(problem: Problem, recipe: Recipe) -> float:
    """About what a run needs: mostly matrices of the size of the parameters squared."""
    few = {"num_points": 1, "pool_size": 1, "num_held_out": 1}
    small = dataclasses.replace(recipe, **few)
    num_params = Trainer(Formulation(problem), small, 0).num_params
    num_rows = recipe.pool_size + recipe.num_held_out
    has_matrices = not isinstance(recipe.optimizer, Adam | FromOptax)
    size = num_params**2 if has_matrices else num_params
    return _PROGRAM_BYTES + 8.0 * (_MATRICES * size + _ROWS * num_rows)


def bytes_of_operator_run(pairs: Pairs, recipe: OperatorRecipe) -> float:
    """About what a run needs: all functions with their weights, and what a batch
    becomes in each layer and back."""
    numbers = math.prod(pairs.inputs.shape) + 2 * math.prod(pairs.outputs.shape)
    points = math.prod(pairs.outputs.shape[1:])
    if recipe.splits is not None:
        points //= pairs.grid[pairs.names.index(recipe.splits)]
    batch = _LAYERS * recipe.batch_size * points
    return _PROGRAM_BYTES + np.dtype(recipe.dtype).itemsize * (2.0 * numbers + batch)


def free_bytes() -> float:
    """The memory that is free or can be freed; half of all if that is not known."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        found = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
        return 1024.0 * float(found[0])
    except (OSError, IndexError):
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
