"""`compare`: run several policies on equal budgets and compare them."""

import dataclasses
import functools
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import InputError, use_precision
from ..data import Pairs, open_pairs
from ..operators import OperatorRecipe, default_operator_recipe
from ..pinn import Recipe, default_recipe, training_alone
from ..problems import Formulation, Problem
from ..report import markdown_table
from ..runs import RunRecord
from ._base import (
    DEFAULT_MINUTES,
    DEFAULT_SEEDS,
    AbstractCase,
    Settings,
    UsageError,
)
from .budget import check_budget, choose_jobs, num_cores, share_of_cores
from .executors import InProcess, Made, Processes, make_runs
from .folder import ComparisonFolder, ComparisonRecord, as_json, text_of
from .methods import DataCase, Policies, ProblemCase, methods_of
from .page import result_html, write_comparison_report


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Runs of several methods with the same seeds, and their comparison.

    Printing it shows the table with its sentences; a notebook shows it as HTML.
    `comparison.runs["rad"][0]` is the record of a run. `comparison.solutions["rad"][0]`
    is its solution or operator, loaded on first use.
    """

    record: ComparisonRecord
    path: Path
    case: AbstractCase
    recipes: dict[str, Any]
    is_stopped: bool = False
    is_temporary: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """The content of `comparison.json`."""
        return self.record.content

    @property
    def runs(self) -> dict[str, dict[int, RunRecord]]:
        """Records of runs by method and seed."""
        return self.record.runs

    @functools.cached_property
    def solutions(self) -> dict[str, "RunSolutions"]:
        """Solutions (or operators) by method and seed."""
        return {
            method: RunSolutions(self.case, self.recipes[method], runs)
            for method, runs in self.runs.items()
        }

    @property
    def table(self) -> str:
        """One row per method, as Markdown."""
        return markdown_table(self.content["rows"])

    @property
    def sentences(self) -> list[str]:
        """Each method against the baseline, in words."""
        return list(self.content["sentences"])

    def write_report(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Write `report.html` and its figures into `out`, or into the comparison's
        folder; return the path of the page."""
        if out is None and self.is_temporary:
            raise InputError(
                "The runs are in a temporary folder: give `write_report(out)`, or "
                "`vrba.compare(..., out=...)`."
            )
        return write_comparison_report(self.record, Path(out or self.path))

    def __str__(self) -> str:
        return text_of(self.content)

    def __repr__(self) -> str:
        return text_of(self.content)

    def _repr_html_(self) -> str:
        return f"<p>{self.record.sentence()}</p>" + result_html(self.content)


class RunSolutions:
    """Solutions of one method by seed, loaded on first use."""

    def __init__(self, case: AbstractCase, recipe: Any, runs: dict[int, RunRecord]):
        self._case, self._recipe, self._runs = case, recipe, runs
        self._loaded: dict[int, Any] = {}

    def __getitem__(self, seed: int) -> Any:
        if seed not in self._loaded:
            run = self._runs[seed].path
            self._loaded[seed] = self._case.load(run, self._recipe)
        return self._loaded[seed]

    def __iter__(self):
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


def compare(
    problem: Problem | Pairs | str | os.PathLike[str],
    policies: Policies | None = None,
    seeds: int = DEFAULT_SEEDS,
    minutes: float | int | None = None,
    *,
    steps: int | None = None,
    first_seed: int = 0,
    recipe: Recipe | OperatorRecipe | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    diagnose: float | int = 0.05,
) -> Comparison:
    """Compare policies on a problem, or on data for operators, with equal budgets.

    `problem` is a problem, or pairs of functions or the file that holds them.
    `policies` are names as for `vrba compare` (`"uniform"`, `"rad"`, `"default"`,
    `"default:cosh"`), policy objects, or a dict from names to either. Each policy runs
    with the same `seeds` consecutive seeds, for `minutes` each (for a problem one
    minute, unless `steps` or a `recipe` is given) and at most `steps` steps. Only the
    policy differs from `recipe`, by default that of the problem or the data.

    Runs are made one after another in this process, without a linear stage, and written
    to the folder `out`, by default a temporary one. `resume=True` makes only the runs
    that are missing in `out`, and may have more seeds. Ctrl-C stops after a step.
    """
    check_budget(first_seed, seeds, minutes, diagnose)
    if resume and out is None:
        raise UsageError(
            "`resume=True` needs the folder of the comparison: give `out`."
        )
    if isinstance(problem, Problem) and (minutes, steps, recipe) == (None, None, None):
        minutes = DEFAULT_MINUTES
    case = case_of(problem, recipe, minutes, steps)
    with use_precision(case.recipe.dtype):
        recipes = methods_of(case, policies)
    folder = ComparisonFolder(tempfile.mkdtemp("-vrba") if out is None else out)
    given: dict[str, Any] = {"minutes": minutes, "steps": steps}
    flags = {name: value for name, value in given.items() if value is not None}
    shared = (first_seed, seeds, flags, num_cores())
    settings = Settings(case.command, None, (), tuple(recipes), *shared)
    described = case.describe()
    if resume:
        _check_resumed(folder, case, settings, described)
    else:
        folder.check_free()
    options = {"diagnose": diagnose} if case.command == "solve" else {}
    executor = InProcess(case, recipes, minutes, **options)
    is_temporary = out is None
    try:
        is_stopped = make_runs(folder, settings, described, executor).is_stopped
        record = ComparisonRecord.read(folder.path)
    except BaseException:
        if is_temporary:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    found = Comparison(record, folder.path, case, recipes, is_stopped, is_temporary)
    if is_temporary:
        weakref.finalize(found, shutil.rmtree, folder.path, ignore_errors=True)
    return found


def compare_in_processes(
    case: AbstractCase,
    recipes: Mapping[str, Any],
    folder: ComparisonFolder,
    *,
    target: str,
    param: tuple[str, ...] = (),
    flags: dict[str, Any],
    first_seed: int = 0,
    num_seeds: int = DEFAULT_SEEDS,
    jobs: int | None = None,
    only: str | None = None,
) -> Made:
    """Begin a comparison whose runs are `vrba` processes with these `flags`.

    `recipes` are those of the methods, by name. `jobs` is the number of runs at a time,
    by default as many as cores and memory allow. `only` names the methods whose runs
    are made.
    """
    folder.check_free()
    if jobs is None:
        most_bytes = max(map(case.num_bytes, recipes.values()))
        jobs = choose_jobs(num_seeds * len(recipes), most_bytes)
    given = {name: value for name, value in flags.items() if value is not None}
    settings = Settings(
        case.command,
        target,
        param,
        tuple(recipes),
        first_seed,
        num_seeds,
        given,
        share_of_cores(jobs),
    )
    executor = Processes(settings, jobs)
    return make_runs(folder, settings, case.describe(), executor, only)


def resume_in_processes(
    case: AbstractCase,
    folder: ComparisonFolder,
    *,
    target: str | None = None,
    num_seeds: int | None = None,
    jobs: int | None = None,
    only: str | None = None,
) -> Made:
    """Make the missing runs of a comparison, with as many threads each as before: the
    rounding of a run may depend on them."""
    settings, described = folder.read()
    if target is not None:
        settings = dataclasses.replace(settings, target=target)
    if num_seeds is not None:
        check_enough_seeds(folder, settings, num_seeds)
        settings = dataclasses.replace(settings, num_seeds=num_seeds)
    check_same_case(folder, case, described, case.describe())
    jobs = jobs or max(1, share_of_cores(settings.num_threads))
    return make_runs(folder, settings, described, Processes(settings, jobs), only)


def case_of(
    problem: Any, recipe: Any, minutes: float | int | None, steps: int | None
) -> ProblemCase | DataCase:
    """The problem or the data with a recipe, by default the usual one.

    The recipe is limited to `steps`. That of a problem is for training alone.
    """
    if isinstance(problem, Problem):
        if recipe is None:
            recipe = default_recipe(Formulation(problem), minutes, polish=None)
        _check_recipe(recipe, Recipe)
        return ProblemCase(problem, _limited(training_alone(recipe), steps))
    if isinstance(problem, Pairs | str | os.PathLike):
        is_file = not isinstance(problem, Pairs)
        pairs = open_pairs(problem) if is_file else problem
        if recipe is None:
            recipe = default_operator_recipe(pairs, steps)
        _check_recipe(recipe, OperatorRecipe)
        file = str(problem) if is_file else None
        return DataCase(pairs, _limited(recipe, steps), file)
    raise UsageError(
        f"`problem` is {type(problem).__name__}: give a `vrba.Problem`, or `Pairs` of "
        "functions or their file."
    )


def _limited(recipe: Any, steps: int | None) -> Any:
    return recipe if steps is None else dataclasses.replace(recipe, max_steps=steps)


def _check_recipe(recipe: Any, kind: type) -> None:
    if not isinstance(recipe, kind):
        raise UsageError(
            f"`recipe` must be of type {kind.__name__}, got {type(recipe).__name__}."
        )


def _check_resumed(
    folder: ComparisonFolder,
    case: AbstractCase,
    settings: Settings,
    described: dict[str, Any],
) -> None:
    """Raise unless the stored comparison has the same settings and fewer seeds."""
    stored, before = folder.read()
    check_same_case(folder, case, before, described)
    old, new = dataclasses.asdict(stored), dataclasses.asdict(settings)
    for name in ("command", "target", "methods", "first_seed", "flags"):
        if old[name] != new[name]:
            raise UsageError(
                f"`{folder.path}` was started with the {name} {old[name]}, not "
                f"{new[name]}: give the same, or choose another folder."
            )
    check_enough_seeds(folder, stored, settings.num_seeds)


def check_same_case(
    folder: ComparisonFolder,
    case: AbstractCase,
    before: dict[str, Any],
    now: dict[str, Any],
) -> None:
    """Raise if the problem or the data differ from those of the stored comparison."""
    if not case.is_same(before, json.loads(as_json(now))):
        raise UsageError(
            f"`{now['name']}` has changed since the comparison in `{folder.path}` was "
            "begun: its methods would not solve the same task. Begin a new comparison."
        )


def check_enough_seeds(
    folder: ComparisonFolder, stored: Settings, num_seeds: int
) -> None:
    """Raise if a resumed comparison would have fewer seeds than before."""
    if num_seeds < stored.num_seeds:
        raise UsageError(
            f"`seeds` is {num_seeds}, less than the {stored.num_seeds} of "
            f"`{folder.path}`: leave it out, or give more."
        )
