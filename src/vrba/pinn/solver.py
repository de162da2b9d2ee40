"""`solve`: from a problem to a solution."""

import dataclasses
import math
import os
from contextlib import nullcontext
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from ..core import InputError, check_positive, describe, lock_folder, use_precision
from ..problems import Formulation, Problem, Reference
from ..runs import (
    SOLVE,
    AbstractCallback,
    Checkpointer,
    Ended,
    Logger,
    PrintLines,
    Run,
    RunFolder,
    StopReason,
    check_same_problem,
    describe_problem,
    describe_program,
    save_best,
    status_of,
)
from .accuracy import errors_of, measure_residuals, reference_of, residual_result
from .evaluator import Evaluator
from .measurements import Measurements
from .polish import training_share, why_left_out
from .polish_run import PolishRun, run_polish
from .recipe import Recipe, default_recipe, with_max_steps
from .snapshot import figure_arrays
from .solution import Solution, evaluator_from
from .state import TrainState
from .trainer import Trainer


def solve(
    problem: Problem | None = None,
    recipe: Recipe | None = None,
    seed: int | np.integer = 0,
    minutes: float | int | np.number | None = None,
    run: str | os.PathLike[str] | None = None,
    *,
    init_from: Solution | None = None,
    resume: bool = False,
    allow_change: bool = False,
    callback: AbstractCallback | None = None,
    save_every: float = 60.0,
    diagnose: float | int = 0.05,
    command: str | None = None,
) -> Solution:
    """Solve a problem within `minutes`, or within the steps of the recipe.

    The default recipe follows from the problem. `minutes` count the training time of
    the run with compilation, also before a resume. Ctrl-C stops after the current step
    and returns the solution so far.

    With a folder `run`, everything is saved there every `save_every` seconds.
    `resume=True` continues that run bit for bit; the folder describes a shipped problem
    and its recipe. A changed problem is refused unless `allow_change=True`.
    `init_from` starts from the parameters of another solution.

    `diagnose` is the fraction of the time for diagnostics (`vrba.diagnose`); 0 disables
    them, 1 runs them at every check. Runs below 100 s are too short for the default.
    `command` is the command line for the report.
    """
    seed = cast(int, describe(seed))  # numbers of numpy as plain ones
    minutes = cast(float | None, describe(minutes))
    if minutes is not None:
        check_positive(minutes=minutes)
    folder = None if run is None else RunFolder(run)
    if resume:
        if init_from is not None:
            raise InputError("`init_from` cannot be used with `resume=True`.")
        evaluator, before = _reopen(folder, problem, recipe, minutes, allow_change)
        minutes = cast(float | None, before["minutes"] if minutes is None else minutes)
        command = before.get("command")
    else:
        if folder is not None:
            folder.check_free()
        evaluator = _new_evaluator(problem, recipe, seed, minutes, init_from)
    lock = nullcontext() if folder is None else lock_folder(folder.path)
    with use_precision(evaluator.recipe.dtype), lock:
        if folder is not None and not resume:
            folder.check_free()
        reference = reference_of(evaluator.formulation)
        trainer = Trainer(evaluator)
        share = training_share(evaluator.recipe.polish, evaluator.recipe.dtype, minutes)
        training_minutes = None if minutes is None else share * minutes
        callback = PrintLines() if callback is None else callback
        logger = Logger(Measurements(trainer, reference, diagnose), callback, folder)
        checkpointer = Checkpointer(trainer, folder, save_every)
        manifest = _manifest(evaluator, minutes) | {"command": command}
        one = Run(trainer, logger, checkpointer, manifest, training_minutes)
        ended = one.train(lambda: _initial_state(trainer, init_from), resume=resume)
        polished = _polish(one, trainer, ended, reference, minutes)
        solution = _finish(one, trainer, ended, polished, reference)
        callback.on_end(solution.sentence())
        return solution


def _new_evaluator(problem, recipe, seed, minutes, init_from) -> Evaluator:
    if problem is None:
        raise InputError("`problem` is missing: give one, or resume a run.")
    similar = recipe or (init_from and init_from.recipe)
    with use_precision(similar.dtype if similar else "float64"):
        formulation = Formulation(problem)
        if recipe is None:
            if init_from is None:
                recipe = default_recipe(formulation, minutes)
            else:  # the network that training starts from
                recipe = default_recipe(formulation, minutes, model=similar.model)
                recipe = dataclasses.replace(recipe, dtype=similar.dtype)
        evaluator = Evaluator(formulation, with_max_steps(recipe, minutes), seed)
        if init_from is not None:
            _check_same_shapes(init_from, evaluator)
        return evaluator


def _check_same_shapes(init_from: Solution, evaluator: Evaluator) -> None:
    """Raise if the parameters of a solution do not fit the recipe's network."""
    shapes = lambda tree: [leaf.shape for leaf in jax.tree.leaves(tree)]
    if shapes(init_from.params) == shapes(jax.eval_shape(evaluator.initial_params)):
        return
    raise InputError(
        f"`init_from` has the network {init_from.recipe.model}, but the recipe has "
        f"{evaluator.recipe.model}: use the same network, and a problem with as many "
        "coordinates and fields."
    )


def _reopen(
    folder: RunFolder | None,
    problem: Problem | None,
    recipe: Recipe | None,
    minutes: float | int | None,
    allow_change: bool,
) -> tuple[Evaluator, dict[str, Any]]:
    """The evaluator of the run in a folder, and its manifest."""
    if folder is None:
        raise InputError("`resume=True` needs the folder of a run: give `run`.")
    manifest = folder.read_manifest(SOLVE)
    evaluator = evaluator_from(manifest, problem, folder.path, recipe, minutes)
    if not allow_change:
        found = evaluator.formulation.problem
        check_same_problem(manifest, found, folder.path)
    return evaluator, manifest


def _initial_state(trainer: Trainer, init_from: Solution | None) -> TrainState:
    """A state with random parameters, or those of another solution."""
    params, dtype = None, trainer.recipe.dtype
    if init_from is not None:
        cast = lambda leaf: jnp.asarray(leaf, dtype)
        params = jax.tree.map(cast, init_from.params)
    state = trainer.init(params)
    _check_finite(trainer, state)
    return state


def _check_finite(trainer: Trainer, state: TrainState) -> None:
    """Raise if a residual is NaN or infinite somewhere before any training."""
    evaluator = trainer.evaluator
    names = evaluator.formulation.domain.coordinates
    for name, rows in trainer.pools.items():
        residual = np.asarray(evaluator.residual(state.params, name, rows))
        if not np.all(np.isfinite(residual)):
            row, column = np.argwhere(~np.isfinite(residual))[0]
            label = evaluator.terms[name].residual.labels[column]
            point = np.asarray(rows[0][row])
            place = ", ".join(
                f"{n} = {v:.6g}" for n, v in zip(names, point, strict=True)
            )
            raise InputError(
                f"The residual of `{label}` is {residual[row, column]} at {place}, "
                "before any training: look for a division by zero, a root or a "
                "logarithm there."
            )


def _manifest(evaluator: Evaluator, minutes: float | int | None) -> dict[str, Any]:
    return {
        "kind": SOLVE,
        "problem": describe_problem(evaluator.formulation.problem),
        "recipe": describe(evaluator.recipe),
        "seed": evaluator.seed,
        "minutes": minutes,
        "block_size": evaluator.block_size,
        "num_params": evaluator.num_params,
        "provenance": describe_program(),
    }


def _polish(
    run: Run,
    trainer: Trainer,
    ended: Ended,
    reference: Reference | None,
    minutes: float | int | None,
) -> PolishRun | None:
    """The linear stage after training; `None` where there is none."""
    recipe, state = trainer.recipe, ended.state
    is_over = ended.stop_reason in (StopReason.interrupted, StopReason.not_finite)
    if recipe.polish is None or is_over:
        return None
    if why_left_out(recipe.polish, recipe.dtype, minutes):
        return None
    return run_polish(
        trainer,
        state.best_params,
        int(state.num_steps),
        run.logger,
        run.folder,
        reference=reference,
        seconds=ended.seconds,
        max_seconds=math.inf if minutes is None else 60 * minutes,
    )


def _finish(
    run: Run,
    trainer: Trainer,
    ended: Ended,
    polished: PolishRun | None,
    reference: Reference | None,
) -> Solution:
    """The solution with its accuracy; written to the folder if there is one."""
    state, evaluator = ended.state, trainer.evaluator
    stop_reason, seconds = ended.stop_reason, ended.seconds
    best, last = state.best_params, state.params
    result: dict[str, Any] = {
        "step": int(state.num_steps),
        "selected_step": int(state.best_step),
        **residual_result(evaluator, best, trainer.check_params(best)),
        "last_score": float(ended.check.score),
    }
    if reference is not None:
        result["errors"] = errors_of(evaluator, best, last, reference)
    if polished is not None:
        seconds += polished.seconds
        stop_reason = polished.ends_with(stop_reason)
        result |= polished.result()
    recipe, minutes = trainer.recipe, run.manifest["minutes"]
    result |= {
        "seconds": round(seconds, 3),
        "stop_reason": stop_reason,
        "status": status_of(stop_reason, int(state.num_steps)),
        "manifest": run.manifest,
    }
    if note := why_left_out(recipe.polish, recipe.dtype, minutes):
        result["note"] = note
    folder, record = run.folder, run.logger.record
    path = None if folder is None else folder.path
    solution = Solution(evaluator, best, last, record, result, path)
    if polished is not None and polished.is_accepted:
        solution = _with_polish(solution, trainer, polished, reference)
    if folder is not None:
        header = {k: v for k, v in solution.result.items() if k != "manifest"}
        save_best(folder, state, header)
        folder.save_fields(figure_arrays(solution, trainer, state, reference))
    return solution


def _with_polish(
    solution: Solution,
    trainer: Trainer,
    polished: PolishRun,
    reference: Reference | None,
) -> Solution:
    """The solution after the linear stage, with the accuracy before and after it."""
    evaluator, params = polished.solution()
    check = measure_residuals(evaluator, trainer.held_out, params)
    before = solution.result
    found = residual_result(evaluator, params, check)
    found |= {"last_score": found["score"]}
    if reference is not None:
        found["errors"] = errors_of(evaluator, params, params, reference)
    found["before_polish"] = {k: before[k] for k in found if k in before}
    result, record, path = before | found, solution.record, solution.run
    return Solution(evaluator, params, params, record, result, path, solution)
