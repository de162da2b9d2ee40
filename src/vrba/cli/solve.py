"""`vrba solve`: from a name or a file to a solution and its folder."""

import dataclasses
from pathlib import Path

from typing_extensions import override
from tyro.conf import OmitArgPrefixes

from ..core import describe, use_precision
from ..pinn import (
    Recipe,
    Solution,
    best_of,
    check_grid_file,
    sentence_of_seeds,
    summary_of_seeds,
    unreadable_parts,
)
from ..pinn import solve as solve_problem
from ..problems import Problem
from ..runs import RunFolder, StopReason
from ._base import UsageError
from .flags import AbstractProblemCommand, File, Folder, Switch, Tolerance
from .mechanisms import MechanismFlags
from .output import (
    as_json,
    exit_code,
    output_folder,
    print_how_to_resume,
    print_result,
    progress,
    reproducible_command,
    write_page,
)
from .problem_argument import file_of, load_problem, name_of
from .recipe import (
    dtype_asked,
    dtype_of,
    load_initial_solution,
    new_recipe,
    resumed_recipe,
)


@dataclasses.dataclass(frozen=True)
class Solve(AbstractProblemCommand):
    """Solve a differential equation, by name or from your own FILE.py.

    The run folder contains everything, and the run can be resumed from it.
    """

    seeds: int = 1
    """Number of runs with consecutive seeds; reports the spread between their
    solutions."""
    init_from: Folder = None
    """Initialise the network from the run in this folder."""
    tolerance: Tolerance = None
    """Stop as soon as the estimated relative error is below this number."""
    no_polish: Switch = False
    """Leave out the linear stage after training."""
    mechanisms: OmitArgPrefixes[MechanismFlags] = MechanismFlags()
    allow_change: Switch = False
    """Resume although the problem has changed."""
    export: File = None
    """Export the solution on a grid, as .npz or NetCDF (.nc)."""
    tensorboard: Switch = False
    """Also write TensorBoard curves to RUN/tensorboard."""

    @override
    def run(self) -> int:
        _check(self)
        if self.resume is None:
            dtype = dtype_asked(self.recipe.dtype, self.recipe.recipe)
        else:
            dtype = dtype_of(self.resume)
        with use_precision(dtype):  # the user's file may create arrays, too
            problem = None
            if self.target is not None:
                problem = load_problem(self.target, self.param)
            solutions = _solve_all(self, problem)
        best = solutions[best_of(solutions)]
        if self.json:
            print_result(as_json(summary_of_seeds(solutions)))
        else:
            print_result(f"{sentence_of_seeds(solutions)} See {best.run}.")
        for solution in solutions:
            if solution.run is not None:
                write_page(solution.run, raises=self.debug)
        if self.export is not None:
            best.export(self.export)
        return exit_code([one.result["stop_reason"] for one in solutions])


def _check(flags: Solve) -> None:
    """Raise for flags that would fail later, after a long run."""
    flags.check_flags(flags.seeds)
    if flags.target is None and flags.param:
        raise UsageError("`--param` needs TARGET, the problem that it belongs to.")
    if flags.resume is not None:
        _check_resumed(flags)
    if flags.export is not None:
        check_grid_file(flags.export)
    for folder in [] if flags.out is None else _folders(flags, flags.out):
        RunFolder(folder).check_free()


def _check_resumed(flags: Solve) -> None:
    """Raise for flags that a resumed run cannot change."""
    given = {"--init-from": flags.init_from, "--out": flags.out}
    given |= {"--seed": flags.seed or None, "--dtype": flags.recipe.dtype}
    given |= {"--seeds": flags.seeds - 1 or None}
    given |= {"--no-polish": flags.no_polish or None}
    given |= dict.fromkeys(flags.mechanisms.given(), True)
    sizes = ("recipe", "points", "pool", "width", "depth")
    given |= {f"--{name}": getattr(flags.recipe, name) for name in sizes}
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise UsageError(f"`{wrong[0]}` cannot be changed with `--resume`.")


def _solve_all(flags: Solve, problem: Problem | None) -> list[Solution]:
    """One run for each seed, until one is interrupted."""
    if flags.resume is not None or problem is None:
        run = Path(flags.resume or "")
        recipe = resumed_recipe(flags.recipe, run)
        return [_solve_one(flags, problem, recipe, flags.seed, run, None)]
    recipe = new_recipe(
        flags.recipe,
        problem,
        flags.minutes,
        flags.init_from,
        has_polish=not flags.no_polish,
    )
    recipe = dataclasses.replace(recipe, **flags.mechanisms.changes())
    start = None
    if flags.init_from is not None:
        start = load_initial_solution(flags.init_from, problem)
    solutions = []
    with output_folder(flags.out, Path("runs") / name_of(flags.target or "")) as out:
        for seed, run in enumerate(_folders(flags, out), start=flags.seed):
            solutions.append(_solve_one(flags, problem, recipe, seed, run, start))
            if solutions[-1].result["stop_reason"] == StopReason.interrupted:
                break
    return solutions


def _solve_one(
    flags: Solve,
    problem: Problem | None,
    recipe: Recipe,
    seed: int,
    run: Path,
    start: Solution | None,
) -> Solution:
    words = _resume_words(flags, recipe, run)
    with progress(run, words, has_tensorboard=flags.tensorboard) as callback:
        solution = solve_problem(
            problem,
            recipe,
            seed,
            flags.minutes,
            run,
            init_from=start,
            resume=flags.resume is not None,
            allow_change=flags.allow_change,
            callback=callback,
            diagnose=flags.diagnose,
            tolerance=flags.tolerance,
            command=reproducible_command(flags.words),
        )
    print_how_to_resume(solution.result, words)
    return solution


def _resume_words(flags: Solve, recipe: Recipe, run: Path) -> list[str]:
    """The command that resumes; it repeats what the folder does not store."""
    words = ["vrba", "solve"]
    if flags.target is not None and file_of(flags.target) is not None:
        settings = [word for pair in flags.param for word in ("--param", pair)]
        words += [flags.target, *settings]
    for part in unreadable_parts(describe(recipe)):
        words += [f"--{part}", str(getattr(flags.recipe, part))]
    if flags.resume is not None:
        steps = flags.recipe.steps
        words += [] if steps is None else ["--steps", str(steps)]
        words += ["--allow-change"] * flags.allow_change
    return [*words, "--resume", str(run)]


def _folders(flags: Solve, out: Path) -> list[Path]:
    """The folder of each seed."""
    seeds = range(flags.seed, flags.seed + flags.seeds)
    return [out] if flags.seeds == 1 else [out / f"seed-{seed}" for seed in seeds]
