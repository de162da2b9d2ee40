"""Equal budgets: the share of cores and memory that each run gets."""

import dataclasses
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Pairs
from ..operators import OperatorRecipe
from ..optim import AbstractSolver
from ..pinn import Evaluator, Recipe, Trainer
from ..problems import Formulation, Problem
from ..runs import LAST_SEED
from ._base import UsageError

_PROGRAM_BYTES = 700e6  # Python with JAX and compiled programs
_COPIES = 4  # of the state of an optimizer during a step
_ROWS = 100  # numbers per point of the pool: derivatives, residuals, tilt
_LAYERS = 500  # numbers per point of a batch: channels of layers, forward and backward
_USED_MEMORY = 0.8  # of the free memory; the rest is for other programs
_THREAD_VARIABLES = (
    "NPROC",  # XLA
    "PJRT_NPROC",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def check_budget(
    first_seed: int, num_seeds: int, minutes: float | int | None, diagnose: float | int
) -> None:
    """Raise if the seeds, the time limit or `diagnose` is out of range."""
    if num_seeds < 1:
        raise UsageError(f"`seeds` must be at least 1, got {num_seeds}.")
    if not 0 <= first_seed <= LAST_SEED - num_seeds + 1:
        raise UsageError(
            f"`first_seed` and the last of `seeds` must be between 0 and {LAST_SEED}, "
            f"got {first_seed} and {num_seeds} seeds."
        )
    if minutes is not None and not minutes > 0:
        raise UsageError(f"`minutes` must be positive, got {minutes:g}.")
    if not 0 <= diagnose <= 1:
        raise UsageError(f"`diagnose` must be between 0 and 1, got {diagnose:g}.")


def num_cores() -> int:
    """The cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_jobs(num_runs: int, bytes_per_run: float) -> int:
    """How many runs fit at a time, by cores and by free memory."""
    fitting = int(_USED_MEMORY * free_bytes() / bytes_per_run)
    return max(1, min(num_runs, num_cores(), fitting))


def share_of_cores(jobs: int) -> int:
    """Threads per run."""
    return max(1, num_cores() // jobs)


def environment(num_threads: int) -> dict[str, str]:
    """Environment variables that limit the threads of a process.

    The compilation cache is left out, so that every run spends the same time on
    compilation.
    """
    limits = dict.fromkeys(_THREAD_VARIABLES, str(num_threads))
    kept = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    return kept | limits


def problem_bytes(problem: Problem, recipe: Recipe) -> float:
    """Memory of a run that solves a problem: the optimizer's state, its matrices, and
    the pool."""
    few = {"num_points": 1, "pool_size": 1, "num_held_out": 1}
    small = dataclasses.replace(recipe, **few)
    trainer = Trainer(Evaluator(Formulation(problem), small, 0))
    state = max(map(trainer.state_bytes, range(trainer.num_stages)))
    solvers = solvers_in(recipe.optimizer)
    num_matrices = max((solver.num_matrices for solver in solvers), default=0)
    num_rows = recipe.pool_size + recipe.num_held_out
    size = num_matrices * trainer.evaluator.num_params**2 + _ROWS * num_rows
    return _PROGRAM_BYTES + _COPIES * state + np.dtype(recipe.dtype).itemsize * size


def solvers_in(part: Any) -> Iterator[AbstractSolver]:
    """The linear solvers of an optimizer, also inside a sequence of optimizers."""
    if isinstance(part, AbstractSolver):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from solvers_in(one)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from solvers_in(getattr(part, field.name))


def operator_bytes(pairs: Pairs, recipe: OperatorRecipe) -> float:
    """Memory of a run that trains an operator: all functions with their weights, and
    the layers of a batch."""
    numbers = math.prod(pairs.inputs.shape) + 2 * math.prod(pairs.outputs.shape)
    points = math.prod(pairs.outputs.shape[1:])
    if recipe.split_axis is not None:
        points //= pairs.grid[pairs.names.index(recipe.split_axis)]
    batch = _LAYERS * recipe.batch_size * points
    return _PROGRAM_BYTES + np.dtype(recipe.dtype).itemsize * (2.0 * numbers + batch)


def free_bytes() -> float:
    """The available memory; half of all memory where that is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        found = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
        return 1024.0 * float(found[0])
    except (OSError, IndexError):
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
