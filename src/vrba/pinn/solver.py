"""`solve`: from a problem to a solution."""

import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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
    Logger,
    Ongoing,
    PrintLines,
    Run,
    RunFolder,
    check_same_problem,
    describe_problem,
    describe_program,
    save_best,
    status_of,
    unsolved_status,
)
from .accuracy import errors_of, reference_of, residual_result
from .evaluator import Evaluator
from .measurements import Measurements
from .natural_size import residual_shares
from .polish import why_left_out
from .preparing import Prepared, prepare
from .recipe import Recipe, default_recipe, with_max_steps
from .snapshot import figure_arrays
from .solution import Solution, evaluator_from, with_polish
from .stages import Stages, run_stages
from .state import TrainState, replaced
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
    tolerance: float | np.number | None = None,
    command: str | None = None,
) -> Solution:
    """Solve a problem within `minutes`, or within the steps of the recipe.

    The default recipe follows from the problem. `minutes` count the time of the run
    with compilation, also before a resume. Ctrl-C stops after the current step and
    returns the solution so far.

    With a folder `run`, everything is saved there every `save_every` seconds, and
    `resume=True` continues bit for bit; `allow_change=True` accepts another problem.
    `init_from` starts from the trained network of another solution. With a `tolerance`
    the run stops when the estimated relative error is below it: the linear stage runs
    several times, each after twice the time. `diagnose` is the fraction of the time for
    diagnostics (`vrba.diagnose`); runs below 100 s are too short for the default.
    `command` is the command line for the report.
    """
    seed = cast(int, describe(seed))  # numbers of numpy as plain ones
    minutes = cast(float | None, describe(minutes))
    tolerance = cast(float | None, describe(tolerance))
    _check_options(minutes, resume, init_from)
    init_from = init_from and (init_from.before_polish or init_from)
    folder = None if run is None else RunFolder(run)
    options: dict[str, Any] = {"minutes": minutes, "tolerance": tolerance}
    if resume:
        prepared, before = _reopen(folder, problem, recipe, minutes, allow_change)
        options = {k: before.get(k) if v is None else v for k, v in options.items()}
        command = before.get("command")
    else:
        if folder is not None:
            folder.check_free()
        prepared = _prepare(problem, recipe, seed, minutes, init_from)
    evaluator = prepared.evaluator
    _check_tolerance(evaluator, **options)
    with use_precision(evaluator.recipe.dtype), _locked(folder, resume):
        reference = reference_of(evaluator.formulation)
        callback = PrintLines() if callback is None else callback
        trainer = Trainer(evaluator)
        logger = Logger(Measurements(trainer, reference, diagnose), callback, folder)
        checkpointer = Checkpointer(trainer, folder, save_every)
        manifest = _manifest(evaluator, command=command, **options)
        one = Run(trainer, logger, checkpointer, manifest, options["minutes"])
        start = _begin(one, prepared, init_from, resume)
        stages = run_stages(one, start, reference, **options)
        solution = _finish(one, stages, reference)
        callback.on_end(solution.sentence())
        return solution


def _begin(
    run: Run, prepared: Prepared, init_from: Solution | None, resume: bool
) -> Ongoing:
    """The state from which training goes on, after the time of the preparation."""
    trainer: Any = run.trainer
    params = prepared.params if init_from is None else init_from.params
    begun = prepared.begun
    spent = 0.0 if begun is None else time.monotonic() - begun
    start = run.begin(lambda: _initial_state(trainer, params), resume=resume)
    return dataclasses.replace(start, seconds=start.seconds + spent)


@contextmanager
def _locked(folder: RunFolder | None, resume: bool) -> Iterator[None]:
    """Lock the folder, if there is one; a new run needs a free folder."""
    with nullcontext() if folder is None else lock_folder(folder.path):
        if folder is not None and not resume:
            folder.check_free()
        yield


def _check_options(
    minutes: float | int | None, resume: bool, init_from: Solution | None
) -> None:
    if minutes is not None:
        check_positive(minutes=minutes)
    if resume and init_from is not None:
        raise InputError("`init_from` cannot be used with `resume=True`.")
    if init_from and init_from.before_polish and not init_from.result["step"]:
        raise InputError(
            "`init_from` was found in one shot, so its network was never trained: "
            "leave it out, or give a solution of a run without `tolerance`."
        )


def _check_tolerance(
    evaluator: Evaluator, *, minutes: float | int | None, tolerance: float | None
) -> None:
    """Raise unless the run has a linear stage, which estimates the error."""
    if tolerance is None:
        return
    check_positive(tolerance=tolerance)
    recipe, num_params = evaluator.recipe, evaluator.num_params
    reason = why_left_out(recipe.polish, recipe.dtype, minutes, num_params)
    if recipe.polish is None or reason:
        reason = reason or "The recipe has `polish=None`."
        raise InputError(
            "`tolerance` needs the linear stage, which estimates the error. " + reason
        )


def _prepare(problem, recipe, seed, minutes, init_from) -> Prepared:
    """The problem with its network, with scales, weights and the form of conditions."""
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
        recipe = with_max_steps(recipe, minutes)
        if init_from is not None:
            _check_same_shapes(init_from, Evaluator(formulation, recipe, seed))
        like = init_from and init_from.evaluator.preparation
        return prepare(formulation, recipe, seed, minutes, like)


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
) -> tuple[Prepared, dict[str, Any]]:
    """What the run in a folder prepared, and its manifest."""
    if folder is None:
        raise InputError("`resume=True` needs the folder of a run: give `run`.")
    manifest = folder.read_manifest(SOLVE)
    evaluator = evaluator_from(manifest, problem, folder.path, recipe, minutes)
    if not allow_change:
        found = evaluator.formulation.problem
        check_same_problem(manifest, found, folder.path)
    return Prepared(evaluator, None, None), manifest


def _initial_state(trainer: Trainer, params: Any) -> TrainState:
    """A state with random parameters, or with given ones."""
    if params is not None:
        cast = lambda leaf: jnp.asarray(leaf, trainer.recipe.dtype)
        params = jax.tree.map(cast, params)
    state = trainer.init(params)
    _check_finite(trainer, state)
    first = trainer.check_params(trainer.evaluator.initial_params())
    return replaced(state, first_score=first.score)


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


def _manifest(evaluator: Evaluator, **options: Any) -> dict[str, Any]:
    return {
        "kind": SOLVE,
        "problem": describe_problem(evaluator.formulation.problem),
        "recipe": describe(evaluator.recipe),
        "seed": evaluator.seed,
        "block_size": evaluator.block_size,
        "num_params": evaluator.num_params,
        "preparation": evaluator.preparation.description(),
        "provenance": describe_program(),
    } | options


def _judge(solution: Solution, held_out: dict[str, Any], record: list[Any]) -> None:
    """Add residuals relative to the terms of the equations, and what they mean."""
    result = solution.result
    shares = residual_shares(solution.evaluator, solution.params, held_out)
    marching = result.get("marching", {})
    if marching.get("is_selected"):
        shares["jumps between slabs"] = marching["largest_jump"]
    result["residual_shares"] = shares
    status = unsolved_status(max(shares.values()), record)
    result["status"] = result["status"] or status


def _finish(run: Run, stages: Stages, reference: Reference | None) -> Solution:
    """The solution with its accuracy; written to the folder if there is one."""
    trainer: Any = run.trainer
    measurements: Any = run.logger.measurements
    ended, polished = stages.ended, stages.polished
    state, evaluator, recipe = ended.state, trainer.evaluator, trainer.recipe
    best, last = state.best_params, state.params
    result: dict[str, Any] = {
        "step": int(state.num_steps),
        "selected_step": int(state.best_step),
        "seconds": round(stages.seconds, 3),
        "stop_reason": stages.stop_reason,
        "status": status_of(stages.stop_reason, int(state.num_steps)),
        **residual_result(evaluator, best, trainer.check_params(best)),
        "last_score": float(ended.check.score),
        "manifest": run.manifest,
    }
    if measurements.undetermined:
        result["undetermined"] = measurements.undetermined
    if reference is not None:
        result["errors"] = errors_of(evaluator, best, last, reference)
    if polished is not None:
        result |= polished.result
    minutes, num_params = run.manifest["minutes"], evaluator.num_params
    if note := why_left_out(recipe.polish, recipe.dtype, minutes, num_params):
        result["note"] = note
    folder, record = run.folder, run.logger.record
    path = None if folder is None else folder.path
    solution = Solution(evaluator, best, last, record, result, path)
    held_out = trainer.held_out
    if polished is not None and polished.is_selected:
        result["status"] = None  # the polished network is finite, whatever came later
        held_out = polished.held_out or trainer.held_out
        solution = with_polish(solution, held_out, polished, reference)
    _judge(solution, held_out, record)
    if folder is not None:
        header = {k: v for k, v in solution.result.items() if k != "manifest"}
        save_best(folder, state, header)
        folder.save_fields(figure_arrays(solution, trainer, state, reference))
    return solution
