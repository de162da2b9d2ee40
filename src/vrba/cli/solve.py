"""`vrba solve`: from a name or a file to a solution and its folder."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, arg

from ..compare import known_problems, listed
from ..core import precision
from ..problems import Problem
from ..report import Panel
from ..train import Recipe, RunFolder, Solution
from ..train import solve as solve_problem
from ._base import (
    DONE,
    FAILED,
    INTERRUPTED,
    AbstractCommand,
    UsageError,
    check_seeds,
    check_share,
)
from .drawing import draw_report
from .flags import Assignments, Folder, Minutes, Switch, Target
from .outcome import as_json, best_of, sentence, status_of, summary_of_all
from .recipe import (
    RecipeFlags,
    check_start,
    dtype_asked,
    dtype_of,
    load_start,
    new_recipe,
    resumed_recipe,
    unreadable_parts,
)
from .retelling import retold, teller
from .target import file_of, folder_for, load_problem, name_of


@dataclasses.dataclass(frozen=True)
class Solve(AbstractCommand):
    """Solve a differential equation by name, or one of your own in FILE.py.

    Everything goes to a folder, from which the run can be resumed.
    """

    target: Target = None
    param: Assignments = ()
    recipe: OmitArgPrefixes[RecipeFlags] = RecipeFlags()
    minutes: Minutes = None
    """Minutes at most in all, also before a resume, for each seed."""
    seed: int = 0
    """Random numbers: the network and the points."""
    seeds: int = 1
    """So many runs, from SEED on, and how far their solutions disagree."""
    out: Folder = None
    """The run's folder, runs/NAME unless given."""
    init_from: Folder = None
    """Begin with the network of another run."""
    resume: Folder = None
    """Go on with a run; TARGET can be left out if it comes with vrba."""
    allow_change: Switch = False
    """Resume although the problem has changed."""
    export: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the solution on a grid, as .npz or NetCDF (.nc)."""
    tensorboard: Switch = False
    """Write curves for TensorBoard into RUN/tensorboard, too."""
    diagnose: float = 0.05
    """Share of the time for looking at gradients, residuals and weights; 0 for none."""
    json: Switch = False
    """Print the result as one JSON object, the last line."""
    debug: Switch = False
    """Show errors in full."""

    @property
    def shows_traceback(self) -> bool:
        """As asked."""
        return self.debug

    def file(self) -> Path | None:
        """The target, if it is one."""
        return file_of(self.target)

    def run(self) -> int:
        """Solves, draws, exports, tells."""
        _check(self)
        if self.resume is None:
            dtype = dtype_asked(self.recipe.dtype, self.recipe.recipe)
        else:
            dtype = dtype_of(self.resume)
        with precision(dtype):  # the user's file may make arrays, too
            problem = None
            if self.target is not None:
                problem = load_problem(self.target, self.param)
            solutions, runs = _solve_all(self, problem)
        best = best_of(solutions)
        _tell(self, solutions, runs, best)
        for run in runs:
            draw_report(run, raises=self.debug)
        if self.export is not None:
            solutions[best].export(self.export)
        return _exit_code(solutions)


def _check(flags: Solve) -> None:
    """Refuses what would fail later, after a long run."""
    if flags.target is None and flags.resume is None:
        raise UsageError(
            "Give a problem to solve: FILE.py, or one of "
            f"{listed(known_problems())}; or go on with `--resume DIR`."
        )
    if flags.target is None and flags.param:
        raise UsageError("`--param` needs the problem that it is a setting of.")
    if flags.resume is not None:
        _check_resumed(flags)
    if flags.minutes is not None and not flags.minutes > 0:
        raise UsageError(f"`--minutes` must be positive, got {flags.minutes:g}.")
    check_share(flags.diagnose)
    check_seeds(flags.seed, flags.seeds)
    if flags.export is not None:
        _check_export(flags.export)
    for folder in [] if flags.out is None else _folders(flags, flags.out):
        if RunFolder(folder).holds_run:
            raise UsageError(
                f"`{folder}` already holds a run: go on with `--resume {folder}`, or "
                "choose another folder."
            )


def _check_export(path: Path) -> None:
    """Refuses a file that cannot be written; its folder is made."""
    if path.suffix not in (".npz", ".nc"):
        raise UsageError(f"`--export {path}` must end in .npz or .nc.")
    if path.is_dir():
        raise UsageError(f"`--export {path}` is a folder: name a file.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"`--export {path}` cannot be written: {error}.") from error


def _check_resumed(flags: Solve) -> None:
    """Refuses what a run already has."""
    given = {"--init-from": flags.init_from, "--out": flags.out}
    given |= {"--seed": flags.seed or None, "--dtype": flags.recipe.dtype}
    given |= {"--seeds": flags.seeds - 1 or None}
    sizes = ("recipe", "points", "pool", "width", "depth")
    given |= {f"--{name}": getattr(flags.recipe, name) for name in sizes}
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise UsageError(f"`{wrong[0]}` is that of the run with `--resume`.")


def _solve_all(
    flags: Solve, problem: Problem | None
) -> tuple[list[Solution], list[Path]]:
    """One run, or one for each seed until it is interrupted."""
    if flags.resume is not None or problem is None:
        run = Path(flags.resume or "")
        recipe = resumed_recipe(flags.recipe, run)
        return [_solve_one(flags, problem, recipe, flags.seed, run, None)], [run]
    recipe = new_recipe(flags.recipe, problem, flags.minutes, flags.init_from)
    start = None
    if flags.init_from is not None:
        start = load_start(flags.init_from, problem)
        check_start(start, recipe, flags.init_from)
    solutions, runs = [], []
    with folder_for(flags.out, Path("runs") / name_of(flags.target or "")) as out:
        for seed, run in enumerate(_folders(flags, out), start=flags.seed):
            solutions.append(_solve_one(flags, problem, recipe, seed, run, start))
            runs.append(run)
            if status_of(solutions[-1]) == "interrupted":
                break
    return solutions, runs


def _solve_one(
    flags: Solve,
    problem: Problem | None,
    recipe: Recipe,
    seed: int,
    run: Path,
    start: Solution | None,
) -> Solution:
    """One run, with a panel on a terminal and lines elsewhere."""
    panel = Panel() if sys.stderr.isatty() else None
    try:
        solution = solve_problem(
            problem,
            recipe,
            seed,
            flags.minutes,
            run,
            init_from=start,
            resume=flags.resume is not None,
            allow_change=flags.allow_change,
            callback=teller(panel, run, has_tensorboard=flags.tensorboard),
            diagnose=flags.diagnose,
            command=retold(flags.words),
        )
    except KeyboardInterrupt:  # before the first step, or at the second Ctrl-C
        if RunFolder(run).checkpoint("latest").exists():
            sys.stderr.write(_how_to_resume(flags, recipe, run))
        raise
    finally:
        if panel is not None:
            panel.close()
    if status_of(solution) == "interrupted":
        sys.stderr.write("Stopped, and all is saved. ")
        sys.stderr.write(_how_to_resume(flags, recipe, run))
    return solution


def _how_to_resume(flags: Solve, recipe: Recipe, run: Path) -> str:
    """The command that goes on; what is not in the folder must be said again."""
    words = ["vrba", "solve"]
    if flags.target is not None and flags.file() is not None:
        settings = [word for pair in flags.param for word in ("--param", pair)]
        words += [flags.target, *settings]
    for part in unreadable_parts(recipe):
        words += [f"--{part}", str(getattr(flags.recipe, part))]
    if flags.resume is not None:
        again = {"--steps": flags.recipe.steps, "--minutes": flags.minutes}
        for flag, value in again.items():
            words += [] if value is None else [flag, str(value)]
        words += ["--allow-change"] * flags.allow_change
    return f"To go on: {shlex.join([*words, '--resume', str(run)])}\n"


def _folders(flags: Solve, out: Path) -> list[Path]:
    """The folder of each seed."""
    seeds = range(flags.seed, flags.seed + flags.seeds)
    return [out] if flags.seeds == 1 else [out / f"seed-{seed}" for seed in seeds]


def _tell(flags: Solve, solutions: list[Solution], runs: list[Path], best: int) -> None:
    """The result on standard output."""
    if flags.json:
        text = as_json(summary_of_all(solutions, runs, best))
    else:
        text = f"{sentence(solutions, best)} See {runs[best]}."
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _exit_code(solutions: list[Solution]) -> int:
    ends = [status_of(solution) for solution in solutions]
    if "interrupted" in ends:
        return INTERRUPTED
    return FAILED if "nonfinite_objective" in ends else DONE
