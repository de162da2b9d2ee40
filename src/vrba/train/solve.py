"""`solve`: from a problem to a solution."""

import dataclasses
import math
import os
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from ..core import InputError, Status, describe, use_precision
from ..optim import Sequence
from ..problems import EQUATIONS, Formulation, Problem
from .about import program
from .accuracy import errors_of, reference_of, relative_error
from .callbacks import AbstractCallback, Lines, Plan
from .diagnostics import Budget
from .diagnostics import diagnose as diagnose_run
from .recipe import Recipe, default_recipe, limited
from .run import AbstractRun
from .run_folder import FORMAT, RunFolder, describe_problem
from .snapshot import drawn, snapshot
from .solution import Solution, check_same, measured, trainer_from
from .state import Check, TrainState
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
    """Solves a problem, within `minutes` or the recipe's steps.

    `recipe` is chosen from the problem unless given. `minutes` count all training of a
    run, also before it was resumed, with compilation. With a folder `run` everything is
    saved there every `save_every` seconds; `resume=True` goes on with such a run as if
    it had never stopped (a shipped problem and its recipe are read from the folder).
    `init_from` begins from the parameters of another solution. Ctrl-C stops after the
    current step and returns what there is.

    At some checks the run measures its gradients, residuals and weights
    (`vrba.diagnose`) and warns of what looks wrong; this aims at the share `diagnose`
    of the time, takes none with 0, and is done at every check with 1. Runs of less than
    100 s are too short for it unless the share is larger. `command` is how
    the run was asked for, to be told in its report.
    """
    seed = cast(int, describe(seed))  # numbers of numpy as plain ones
    minutes = cast(float | None, describe(minutes))
    if minutes is not None and not minutes > 0:
        raise InputError(f"`minutes` must be positive, got {minutes}.")
    callback = Lines() if callback is None else callback
    folder = None if run is None else RunFolder(run)
    if resume:
        if init_from is not None:
            raise InputError(
                "`init_from` is of no use with `resume=True`: leave one out."
            )
        asked = (problem, recipe, minutes, allow_change)
        trainer, before = _reopened(folder, *asked)
        minutes = cast(float | None, before["minutes"] if minutes is None else minutes)
        command = before.get("command")
    else:
        if folder is not None:
            folder.check_free()
        trainer = _made(problem, recipe, seed, minutes, init_from)
    with use_precision(trainer.recipe.dtype):
        about = _about(trainer, minutes) | {"command": command}
        one = _Run(trainer, about, folder, callback, save_every, minutes, diagnose)
        return one.go(init_from, resume)


class _Run(AbstractRun):
    """One call of `solve`."""

    def __init__(self, trainer, about, folder, callback, save_every, minutes, share):
        super().__init__(trainer, about, folder, callback, save_every, minutes)
        self.budget = Budget(share, math.inf)

    def prepare(self) -> None:
        """The reference."""
        self.reference = reference_of(self.trainer.formulation)

    def begin(self, start: Solution | None) -> TrainState:
        """From another solution's parameters, or random ones."""
        trainer = self.trainer
        state = trainer.init(None if start is None else _fitting(start, trainer))
        check_finite(trainer, state)
        return state

    def planned(self, seconds: float) -> None:
        """What may be spent on diagnosing."""
        spent = [entry.get("diagnose_seconds", 0.0) for entry in self.record]
        self.budget = Budget(self.budget.share, seconds, max(spent, default=0.0))

    def plan(self, state: TrainState, seconds: float) -> Plan:
        """What is about to be done; the pace is that of the stage at work."""
        trainer, recipe = self.trainer, self.trainer.recipe
        left = recipe.max_steps - int(state.num_steps)
        size = max(map(trainer.num_bytes, range(trainer.num_stages)))
        return Plan(
            type(trainer.formulation.problem).__name__,
            trainer.num_params,
            f"{recipe.num_points} points of a pool of {recipe.pool_size} in blocks of "
            f"{trainer.block_size}",
            recipe.dtype,
            _name_of(recipe.optimizer),
            int(state.num_steps),
            recipe.max_steps,
            self.pace,
            max(min(self.limit - seconds, self.pace * left), 0.0),
            3 * size,
            None if self.folder is None else str(self.folder.path),
        )

    def more(self, state: TrainState, seconds: float) -> dict[str, Any]:
        """Gradients, residuals and weights, when it is time."""
        if not self.budget.allows(seconds):
            return {}
        return self.budget.measure(lambda: self.diagnose(state))

    def diagnose(self, state: TrainState) -> dict[str, Any]:
        """Numbers for the log, or why there are none: a run does not end for that."""
        try:
            return diagnose_run(self.trainer, state, has_time=self.budget.is_ample)
        except InputError as error:
            return {"not_diagnosed": str(error)}

    def keep(self, state: TrainState) -> None:
        """Where points were drawn."""
        step = int(state.num_steps)
        if self.folder is not None and self.folder.wants_drawn(step):
            self.folder.save_drawn(step, drawn(self.trainer, state))

    def entry(
        self, state: TrainState, check: Check, loss: float, seconds: float
    ) -> dict[str, Any]:
        """A line of the log."""
        trainer = self.trainer
        policy = trainer.policies[EQUATIONS]
        entry: dict[str, Any] = {
            "step": int(state.num_steps),
            "seconds": round(seconds, 3),
            "stage": trainer.stage(state),
            "loss": loss,
            "residual_l2": float(jnp.sqrt(check.mean_squares[EQUATIONS])),
            "residual_max": float(check.largest[EQUATIONS]),
            "score": float(check.score),
            "best_step": int(state.best_step),
            "num_failed": int(state.num_failed),
            "effective_size": float(policy.effective_size(state.policies[EQUATIONS])),
        }
        for name in trainer.formulation.conditions:
            entry[f"residual_l2 {name}"] = float(jnp.sqrt(check.mean_squares[name]))
            entry[f"weight {name}"] = float(state.balance.factors[name])
        for name, value in trainer.unknowns(state.params).items():
            entry[f"unknown {name}"] = value
        if self.reference is not None:
            entry["error"] = relative_error(trainer, state.params, self.reference)
        return entry

    def finish(self, state: TrainState, status: Status, seconds: float) -> Solution:
        """The solution, with its accuracy as far as it is known."""
        trainer = self.trainer
        state, last = trainer.check(state)
        told = self.record[-1]["step"] if self.record else 0
        if status == Status.no_descent and told < int(state.num_steps):
            # nothing comes after it; the loss of the last steps is not known here
            self.log(state, self.entry(state, last, math.nan, seconds))
        state = self.selected(state)
        result: dict[str, Any] = {
            "step": int(state.num_steps),
            "seconds": round(seconds, 3),
            "selected_step": int(state.best_step),
            "status": str(Status[status]),
            **measured(trainer, state.best_params),
            "last_score": float(last.score),
        }
        if self.reference is not None:
            both = (state.best_params, state.params)
            result["errors"] = errors_of(trainer, *both, self.reference)
        result["about"] = self.about
        path = None if self.folder is None else self.folder.path
        both = (state.best_params, state.params)
        solution = Solution(trainer, *both, self.record, result, path)
        if self.folder is not None:
            header = {k: v for k, v in result.items() if k != "about"}
            self.folder.save_best(state, header)
            self.folder.save_fields(snapshot(solution, state, self.reference))
        self.callback.end(solution.sentence())
        return solution


def check_finite(trainer: Trainer, state: TrainState) -> None:
    """Refuses a problem whose residual is NaN or infinite somewhere from the start."""
    names = trainer.formulation.domain.coordinates
    for name, rows in trainer.pools.items():
        residual = np.asarray(trainer.residual(state.params, name, rows))
        if not np.all(np.isfinite(residual)):
            row, column = np.argwhere(~np.isfinite(residual))[0]
            label = trainer.terms[name].residual.labels[column]
            point = np.asarray(rows[0][row])
            place = ", ".join(
                f"{n} = {v:.6g}" for n, v in zip(names, point, strict=True)
            )
            raise InputError(
                f"The residual of `{label}` is {residual[row, column]} at {place}, "
                "before any training: look for a division by zero, a root or a "
                "logarithm there."
            )


def _made(problem, recipe, seed, minutes, start) -> Trainer:
    if problem is None:
        raise InputError("`problem` is missing: give one, or resume a run.")
    like = recipe or (start and start.trainer.recipe)
    with use_precision(like.dtype if like else "float64"):
        formulation = Formulation(problem)
        if recipe is None:
            if start is None:
                recipe = default_recipe(formulation, minutes)
            else:  # its network is what training begins with
                recipe = default_recipe(formulation, minutes, model=like.model)
                recipe = dataclasses.replace(recipe, dtype=like.dtype)
        return Trainer(formulation, limited(recipe, minutes), seed)


def _reopened(
    folder, problem, recipe, minutes, allow_change
) -> tuple[Trainer, dict[str, Any]]:
    if folder is None:
        raise InputError("`resume=True` needs the folder of a run: give `run`.")
    about = folder.about_problem()
    if about["format"] != FORMAT:
        raise InputError(
            f"`{folder.path}` was made by another version of vrba: its solution can be "
            "loaded and begun from (`init_from`), but the run cannot be resumed."
        )
    trainer = trainer_from(about, problem, folder.path, recipe, minutes)
    if not allow_change:
        check_same(about, trainer.formulation.problem, folder.path)
    return trainer, about


def _fitting(start: Solution, trainer: Trainer) -> Any:
    """The parameters to begin from, if the recipe's network has such."""
    shapes = lambda tree: [leaf.shape for leaf in jax.tree.leaves(tree)]
    own = jax.eval_shape(trainer.build)
    if shapes(own) != shapes(start.params):
        raise InputError(
            f"`init_from` has a network of {shapes(start.params)}, the recipe one of "
            f"{shapes(own)}: give the recipe of the run to start from."
        )
    dtype = trainer.recipe.dtype
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), start.params)


def _about(trainer: Trainer, minutes: float | int | None) -> dict[str, Any]:
    return {
        "problem": describe_problem(trainer.formulation.problem),
        "recipe": describe(trainer.recipe),
        "seed": trainer.seed,
        "minutes": minutes,
        "block_size": trainer.block_size,
        "num_params": trainer.num_params,
        "program": program(),
    }


def _name_of(optimizer: Any) -> str:
    if isinstance(optimizer, Sequence):
        parts = [*(stage.optimizer for stage in optimizer.stages), optimizer.last]
        return ", then ".join(_name_of(part) for part in parts)
    return type(optimizer).__name__
