"""`reproduce`: make a table or a figure of the paper, or all of them, again."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .. import data as data_room
from ..compare import (
    AbstractCase,
    ComparisonFolder,
    DataCase,
    Made,
    ProblemCase,
    UsageError,
    as_json,
    compare_in_processes,
    known_problems,
    known_recipes,
    listed,
    methods_of,
    named_in,
    pick,
    pick_some,
    resume_in_processes,
    write_report,
)
from ..core import use_precision, write_atomically
from ..data import AbstractMaker, open_pairs, write_pairs
from ..models import MLP
from ..operators import default_operator_recipe
from ..pinn import Recipe, default_recipe, training_alone
from ..problems import Formulation, Problem
from ..report import Bar
from ._base import SCALES, Experiment, PaperItem
from .items import known_items
from .page import item_text, write_item_page
from .result import result_of

ALL = "all"
_DIAGNOSE = 0.05  # fraction of the run time
_SIZES = {"points": "num_points", "pool": "pool_size", "steps": "max_steps"}


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """Results of tables and figures, in a folder with a page for each."""

    folder: Path
    results: list[dict[str, Any]]
    is_stopped: bool
    has_failures: bool

    def __str__(self) -> str:
        tables = "\n".join(f"{item_text(one)}\n" for one in self.results)
        return f"{tables}See {self.folder}.\n"


def reproduce(
    item: str,
    scale: str = "laptop",
    seeds: int = 1,
    *,
    jobs: int | None = None,
    out: str | os.PathLike[str] = "runs/reproduce",
    only: str | None = None,
    makes_runs: bool = True,
    raises: bool = False,
) -> Reproduction:
    """Make a table or a figure of Toscano et al. (2025) with fair baselines.

    `item` is `table1` to `table4`, `figure1` to `figure5` or `all`; `scale` is `paper`
    (hours to days per row), `laptop` (minutes) or `tiny` (seconds). Experiments that
    several items show are made once, in `out/scale`. A stopped reproduction continues
    by the same call; more `seeds` are added to what is there. `only` names methods,
    experiments or both, as in `A,B`: other runs are not made, their results are kept.
    `makes_runs=False` only writes tables and pages. `raises` raises errors of pages.
    """
    items, scale = _chosen_items(item), pick("scale", scale, {s: s for s in SCALES})
    for name, value in {"seeds": seeds, "jobs": jobs}.items():
        if value is not None and value < 1:
            raise UsageError(f"`{name}` must be at least 1, got {value}.")
    if only is not None and not makes_runs:
        raise UsageError(
            "`only` chooses runs to make, and none are made: leave it out."
        )
    experiments = list({one.name: one for i in items for one in i.experiments}.values())
    chosen = _chosen_methods(experiments, only)
    folder, made, is_stopped = Path(out) / scale, {}, False
    for one in experiments:
        there = ComparisonFolder(folder / one.name)
        if is_stopped or not makes_runs or not chosen[one.name]:
            made[one.name] = _stored(there)
        else:
            methods = ",".join(chosen[one.name])
            made[one.name] = _compared(one, scale, there, methods, seeds, jobs)
        is_stopped |= made[one.name].is_stopped
    if not any(one.folder.file.exists() for one in made.values()):
        raise UsageError(f"There are no results in `{folder}` to make a table of.")
    results = [_write_result(one, scale, folder, made) for one in items]
    _write_pages(items, results, folder, made, raises)
    has_failures = any(one.content["failures"] for one in made.values())
    return Reproduction(folder, results, is_stopped, has_failures)


def _chosen_items(name: str) -> list[PaperItem]:
    known = known_items()
    if name.casefold() == ALL:
        return list(known.values())
    return [pick("table or figure", name, known, f" All of them: {ALL}.")]


def _chosen_methods(
    experiments: Sequence[Experiment], only: str | None
) -> dict[str, list[str]]:
    """The methods whose runs are made, by experiment."""
    known = {one.name: list(one.methods) for one in experiments}
    methods = dict.fromkeys(method for some in known.values() for method in some)
    named = set(pick_some("method or experiment", only, [*methods, *known]))
    wanted = named & set(methods) or set(methods)
    names = named & set(known) or set(known)
    available = {method for name in names for method in known[name]}
    if missing := named & set(methods) - available:
        have = [f"{name} has {listed(known[name])}" for name in known if name in names]
        raise UsageError(
            f"`only` names {listed(missing)}, which none of its experiments has: "
            f"{'; '.join(have)}."
        )
    return {
        name: [method for method in some if method in wanted and name in names]
        for name, some in known.items()
    }


def _compared(
    experiment: Experiment,
    scale: str,
    folder: ComparisonFolder,
    methods: str,
    seeds: int,
    jobs: int | None,
) -> Made:
    """Begin or resume the comparison of an experiment."""
    flags: dict[str, Any] = dict(experiment.scales[scale])
    if not experiment.is_data:
        flags["diagnose"] = _DIAGNOSE
    dtype = known_recipes()[flags["recipe"]]().dtype if "recipe" in flags else "float64"
    with use_precision(dtype):
        case = _case(experiment, flags)
        shared: dict[str, Any] = {"jobs": jobs, "only": methods}
        if folder.file.exists():
            seeds = _prepare_to_resume(experiment, folder, flags, seeds)
            return resume_in_processes(case, folder, num_seeds=seeds, **shared)
        return compare_in_processes(
            case,
            methods_of(case, experiment.methods),
            folder,
            target=experiment.target,
            param=experiment.param_words(),
            flags=flags,
            num_seeds=seeds,
            **shared,
        )


def _prepare_to_resume(
    experiment: Experiment,
    folder: ComparisonFolder,
    flags: Mapping[str, Any],
    seeds: int,
) -> int:
    """Add new methods to a stored comparison; return its new number of seeds. Raise if
    other settings differ."""
    stored, described = folder.read()
    param, methods = experiment.param_words(), experiment.methods
    pairs = {
        "target": (stored.target, experiment.target),
        "param": (stored.param, param),
        "flags": (stored.flags, dict(flags)),
    }
    for name, (old, new) in pairs.items():
        if old != new:
            _raise_other(folder, name, old, new)
    if not set(stored.methods) <= set(methods):
        _raise_other(folder, "methods", stored.methods, methods)
    if set(stored.methods) < set(methods):
        stored = dataclasses.replace(stored, methods=methods)
        folder.write(stored, described, folder.failures())
    if stored.num_seeds > seeds:
        sys.stderr.write(f"`{folder.path}` has {stored.num_seeds} seeds already.\n")
    return max(seeds, stored.num_seeds)


def _raise_other(folder: ComparisonFolder, name: str, old: Any, new: Any) -> None:
    raise UsageError(
        f"`{folder.path}` was begun with other {name}, {old} and not {new}: choose "
        "another folder, or move it away."
    )


def _case(experiment: Experiment, flags: Mapping[str, Any]) -> AbstractCase:
    """The problem or the data of an experiment, with a recipe."""
    if experiment.is_data:
        pairs = open_pairs(_data_file(experiment.target, flags["scale"]))
        recipe = default_operator_recipe(pairs, flags.get("steps"))
        return DataCase(pairs, recipe, experiment.target)
    known: Mapping[str, Callable[..., Problem]] = known_problems()
    problem = known[experiment.target](**experiment.params)
    return ProblemCase(problem, _recipe(problem, flags))


def _recipe(problem: Problem, flags: Mapping[str, Any]) -> Recipe:
    """The recipe that a run with these flags has."""
    if "recipe" in flags:
        recipe = known_recipes()[flags["recipe"]]()
    else:
        recipe = default_recipe(Formulation(problem), flags.get("minutes"), polish=None)
    given: dict[str, Any] = {new: flags[k] for k, new in _SIZES.items() if k in flags}
    sizes: dict[str, Any] = {k: flags[k] for k in ("width", "depth") if k in flags}
    if sizes and isinstance(recipe.model, MLP):
        given["model"] = dataclasses.replace(recipe.model, **sizes)
    return dataclasses.replace(training_alone(recipe), **given)


def _data_file(name: str, scale: str) -> Path:
    """The file of generated data, written if it is not there."""
    makers: Mapping[str, Any] = named_in(data_room, AbstractMaker)
    kind = makers[name]
    path = Path("data") / f"{name}-{scale}.h5"
    with Bar(f"Making {path.stem}") as bar:
        return write_pairs(kind(**kind.scales[scale]), path, on_progress=bar.update)


def _stored(folder: ComparisonFolder) -> Made:
    """The results so far; no runs are made."""
    if not folder.file.exists():
        return Made(folder, {"failures": {}}, False)
    settings, described = folder.read()
    content = folder.write(settings, described, folder.failures())
    return Made(folder, content, False)


def _write_result(
    item: PaperItem, scale: str, out: Path, made: Mapping[str, Made]
) -> dict[str, Any]:
    """Write `result.json` and `table.md` of an item; return the result."""
    contents = {one.name: made[one.name].content for one in item.experiments}
    text = as_json(result_of(item, scale, contents), indent=1) + "\n"
    result = json.loads(text)
    folder = out / item.name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "result.json", text.encode())
    write_atomically(folder / "table.md", item_text(result).encode())
    return result


def _write_pages(
    items: Sequence[PaperItem],
    results: Sequence[dict[str, Any]],
    out: Path,
    made: Mapping[str, Made],
    raises: bool,
) -> None:
    """Write the pages of comparisons, then of items; an error affects one page only."""
    paths = {n: m.folder.path for n, m in made.items() if m.folder.file.exists()}
    pages: dict[Path, Callable[[], Path]] = {
        path: partial(write_report, path) for path in paths.values()
    }
    for item, result in zip(items, results, strict=True):
        folders = [paths[one.name] for one in item.experiments if one.name in paths]
        folder = out / item.name
        pages[folder] = partial(write_item_page, result, folders, item.pictures, folder)
    for path, write in pages.items():
        try:
            write()
        except Exception as error:
            if raises:
                raise
            message = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"The page of {path} was not made ({message}).\n")
