"""`vrba compare`: several policies on equal budgets, with several seeds."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from ..core import precision, read_last_line, span
from ..problems import AbstractProblem
from ..report import Board
from ..train import RunFolder
from ..train.run_folder import describe_problem
from ._base import DONE, FAILED, INTERRUPTED, AbstractCommand, UsageError
from .arms import Settings, recipes_of
from .children import Task, run_all
from .comparison import ComparisonFolder, text_of
from .machine import bytes_of_run, choose_jobs, share_of_cores
from .names import known_policies, known_problems, listed
from .outcome import as_json
from .recipe import Count, RecipeFlags
from .solve import Folder
from .target import file_of, free_folder, load_problem, name_of

_MINUTES = 1.0  # for each run, if neither time nor steps are given


@dataclasses.dataclass(frozen=True)
class Compare(AbstractCommand):
    """Solve a problem with several policies, fairly: every arm has the same network,
    points, optimizer and budget for a seed.

    Runs go on side by side, each with its share of the machine.
    """

    target: Annotated[
        Positional[str | None],
        arg(
            metavar="[TARGET]",
            help=f"FILE.py, FILE.py:ClassName, or one of {listed(known_problems())}",
            help_behavior_hint="",
        ),
    ] = None
    policies: Annotated[
        str,
        arg(
            metavar="A,B,C",
            help=f"POLICY or POLICY:POTENTIAL: {listed(known_policies())}",
        ),
    ] = "uniform,rad,vrba"
    set: Annotated[
        UseAppendAction[tuple[str, ...]],
        arg(metavar="NAME=VALUE", help="A setting of the problem"),
    ] = ()
    recipe: OmitArgPrefixes[RecipeFlags] = RecipeFlags()
    minutes: Annotated[float | None, arg(metavar="MINUTES", help_behavior_hint="")] = (
        None
    )
    """Minutes at most for each run; one if there is no `--steps`."""
    seed: int = 0
    """The first seed."""
    seeds: int = 5
    """So many seeds, the same for every arm."""
    jobs: Count = None
    """Runs at a time; as many as there are cores and memory for if not given."""
    out: Folder = None
    """The folder, runs/compare-NAME unless given."""
    resume: Folder = None
    """Finish what is missing in such a folder."""
    json: Annotated[bool, arg(help_behavior_hint="")] = False
    """Print the result as one JSON object, the last line."""
    debug: Annotated[bool, arg(help_behavior_hint="")] = False
    """Show errors in full."""

    @property
    def shows_traceback(self) -> bool:
        """As asked."""
        return self.debug

    def file(self) -> Path | None:
        """The target, if it is one."""
        return file_of(self.target)

    def run(self) -> int:
        """Solves with all arms and seeds, tells, draws."""
        _check(self)
        plan = _new(self) if self.resume is None else _resumed(self, self.resume)
        folder, settings = ComparisonFolder(plan.out), plan.settings
        describe = describe_problem(plan.problem)
        folder.write(settings, describe, {})
        watcher = _Watcher(folder, settings)
        tasks = watcher.tasks()
        watcher.begin(plan, tasks)
        try:
            is_stopped = run_all(
                tasks,
                jobs=plan.jobs,
                num_threads=settings.num_threads,
                on_end=watcher.on_end,
                on_look=watcher.on_look,
            )
        finally:
            watcher.board.close()
            content = folder.write(settings, describe, watcher.failures)
        figure = folder.draw(settings)
        _tell(self, content, folder, figure)
        if is_stopped:
            again = shlex.join(["vrba", "compare", "--resume", str(plan.out)])
            sys.stderr.write(f"Stopped, and all is saved. To go on: {again}\n")
            return INTERRUPTED
        return FAILED if watcher.failures else DONE


@dataclasses.dataclass(frozen=True)
class _Plan:
    """A comparison that is about to begin, or to go on."""

    settings: Settings
    problem: AbstractProblem
    out: Path
    jobs: int


class _Watcher:
    """Tells of runs, and remembers which have failed."""

    def __init__(self, folder: ComparisonFolder, settings: Settings):
        self.folder, self.settings = folder, settings
        self.failures: dict[str, str] = {}
        self.board = Board()
        self.runs = {_name(*run): run for run in settings.runs()}

    def tasks(self) -> list[Task]:
        """The runs that have not ended."""
        found = []
        for name, (arm, seed) in self.runs.items():
            run = self.folder.run(arm, seed)
            if self.folder.result(arm, seed) is not None:
                continue
            words = self.settings.words(arm, seed, run)
            if self.folder.is_begun(arm, seed):
                words = self.settings.words_to_resume(run)
            found.append(Task(name, words, run / "log.txt"))
        return found

    def begin(self, plan: _Plan, tasks: Sequence[Task]) -> None:
        """What is about to be done."""
        settings, minutes = plan.settings, plan.settings.flags.get("minutes")
        budget = "" if minutes is None else f" of at most {minutes:g} min"
        left = f", {len(tasks)} of them left" * (len(tasks) < len(self.runs))
        threads = f"{settings.num_threads} thread{'s' * (settings.num_threads > 1)}"
        self.board.tell(
            f"{type(plan.problem).__name__}: {', '.join(settings.arms)} with "
            f"{settings.num_seeds} seeds, {len(self.runs)} runs{budget}{left}, "
            f"{plan.jobs} at a time with {threads} each, in {plan.out}."
        )

    def on_end(self, task: Task, code: int, is_stopped: bool) -> None:
        """One line for a run that has ended."""
        result = self.folder.result(*self.runs[task.name])
        if result is None and is_stopped:
            self.board.tell(f"{task.name}: stopped")
        elif result is None:
            self.failures[task.name] = task.complaint(code)
            self.board.tell(f"{task.name}: failed: {self.failures[task.name]}")
        else:
            if code != DONE:
                self.failures[task.name] = f"ended with {result['status']}"
            self.board.tell(f"{task.name}: {_in_words(result)}")

    def on_look(self, tasks: Sequence[Task]) -> None:
        """Where those at work stand, if anyone sees it."""
        if not self.board.is_live:
            return
        rows = []
        for task in tasks:
            run = RunFolder(self.folder.run(*self.runs[task.name]))
            entry = read_last_line(run.metrics_file)
            rows.append((task.name, *_standing(entry)))
        self.board.show(rows)


def _check(flags: Compare) -> None:
    """Refuses flags that do not fit."""
    given = {"--policy": flags.recipe.policy, "--potential": flags.recipe.potential}
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"`{name} {value}` would be the same in every arm: write it into "
                "`--policies`, as in uniform,vrba:exponential."
            )
    for name, count in {"--seeds": flags.seeds, "--jobs": flags.jobs}.items():
        if count is not None and count < 1:
            raise UsageError(f"`{name}` must be at least 1, got {count}.")
    if flags.minutes is not None and not flags.minutes > 0:
        raise UsageError(f"`--minutes` must be positive, got {flags.minutes:g}.")
    if flags.resume is None and flags.target is None:
        raise UsageError(
            "Give a problem to solve: FILE.py, or one of "
            f"{listed(known_problems())}; or go on with `--resume DIR`."
        )
    if flags.resume is not None:
        own = Compare(flags.target, resume=flags.resume, jobs=flags.jobs)
        own = dataclasses.replace(own, json=flags.json, debug=flags.debug)
        if own != flags:
            raise UsageError(
                "`--resume` goes on with the settings of the comparison: only TARGET, "
                "`--jobs` and `--json` can be given with it."
            )


def _new(flags: Compare) -> _Plan:
    minutes, target = flags.minutes, flags.target or ""
    if minutes is None and flags.recipe.steps is None:
        minutes = _MINUTES
    with precision(flags.recipe.dtype or "float64"):
        problem = load_problem(target, flags.set)
        recipes = recipes_of(flags.policies, flags.recipe, problem, minutes)
        most = max(bytes_of_run(problem, recipe) for recipe in recipes.values())
    out = flags.out or free_folder(Path("runs") / f"compare-{name_of(target)}")
    if ComparisonFolder(out).file.exists():
        raise UsageError(
            f"`{out}` already holds a comparison: go on with `--resume {out}`, or "
            "choose another folder."
        )
    jobs = flags.jobs or choose_jobs(flags.seeds * len(recipes), most)
    given = dataclasses.asdict(flags.recipe) | {"minutes": minutes}
    settings = Settings(
        target,
        flags.set,
        tuple(recipes),
        flags.seed,
        flags.seeds,
        {name: value for name, value in given.items() if value is not None},
        share_of_cores(jobs),
    )
    return _Plan(settings, problem, out, jobs)


def _resumed(flags: Compare, out: Path) -> _Plan:
    """As it was; also the threads of a run, on which its rounding may depend."""
    settings, described = ComparisonFolder(out).read()
    if flags.target is not None:
        settings = dataclasses.replace(settings, target=flags.target)
    with precision(settings.flags.get("dtype") or "float64"):
        problem = load_problem(settings.target, settings.set)
    if describe_problem(problem) != described:
        raise UsageError(
            f"`{settings.target}` has changed since `{out}` was begun: arms would not "
            "have solved the same problem. Begin a new comparison."
        )
    jobs = flags.jobs or max(1, share_of_cores(settings.num_threads))
    return _Plan(settings, problem, out, jobs)


def _name(arm: str, seed: int) -> str:
    return f"{arm}, seed {seed}"


def _in_words(result: dict[str, Any]) -> str:
    """A run that has ended, on one line."""
    text = f"residual {result['residual_l2']:.2e}"
    if result["error"]:
        text = f"error {result['error']['selected']:.2e} (selected), {text}"
    return f"{text}, {result['step']} steps, {span(result['seconds'])}"


def _standing(entry: dict[str, Any] | None) -> tuple[str, ...]:
    """A run at work, in a few words."""
    if entry is None:
        return ("begins",)
    error = entry.get("error")
    known = "" if error is None else f"error {error:.2e}"
    residual = f"residual {entry['residual_l2']:.2e}"
    return (f"step {entry['step']}", residual, known, span(entry["seconds"]))


def _tell(
    flags: Compare, content: dict[str, Any], folder: ComparisonFolder, figure: Path
) -> None:
    """The result on standard output."""
    text = text_of(content) + f"\nSee {folder.path}, the curves in {figure}.\n"
    if flags.json:
        text = as_json(content | {"folder": str(folder.path)}) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()
