"""`vrba compare`: several policies on equal budgets, with several seeds."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from typing_extensions import override
from tyro.conf import arg

from ..compare import (
    DEFAULT_MINUTES,
    DEFAULT_SEEDS,
    AbstractCase,
    ComparisonFolder,
    DataCase,
    Made,
    ProblemCase,
    check_budget,
    compare_in_processes,
    known_makers,
    known_policies,
    listed,
    methods_of,
    operator_methods,
    resume_in_processes,
    text_of,
)
from ..core import use_precision
from ..data import open_pairs
from ..operators import default_operator_recipe
from ..pinn import Recipe
from ..report import PAGE
from ._base import DONE, FAILED, INTERRUPTED, UsageError
from .data import data_file
from .flags import AbstractProblemCommand, Count, Name, Only
from .output import as_json, free_folder, print_result, write_page
from .problem_argument import load_problem, name_of
from .recipe import OperatorFlags, dtype_asked, new_operator_recipe, new_recipe

_POLICIES = f"POLICY or POLICY:POTENTIAL: {listed(known_policies())}; "
_POLICIES += f"with --data {', '.join(operator_methods())}"
_DATA = f"Train operators on a file of pairs, or on {listed(known_makers())}"
_WITH_RESUME = ("target", "data", "resume", "only", "jobs", "seeds", "json", "debug")
_ONLY_DATA = ("scale", "model", "batch")
_SHARED = ("steps", "resample_every", "dtype")  # by problems and data


@dataclasses.dataclass(frozen=True)
class Compare(AbstractProblemCommand):
    """Compare policies on a problem, or on data for operators, with equal budgets.

    For a seed every method has the same network, points and time; only the policy
    differs. Runs go on side by side, each with its share of the machine.
    """

    data: Annotated[Name, arg(metavar="FILE|NAME", help=_DATA)] = None
    policies: Annotated[Name, arg(metavar="A,B,C", help=_POLICIES)] = None
    scale: Name = None
    """With --data: size of generated data: paper, laptop or tiny."""
    model: Name = None
    """With --data: the network."""
    batch: Count = None
    """With --data: samples per step."""
    seeds: Count = None
    """Number of consecutive seeds, the same for every method (default: 5)."""
    jobs: Count = None
    """Number of runs at a time (default: as many as cores and memory allow)."""
    only: Only = None

    @override
    def run(self) -> int:
        _check(self)
        with use_precision(_dtype(self)):
            made = _begin(self) if self.resume is None else _resume(self, self.resume)
        path = made.folder.path
        text = text_of(made.content) + f"\nSee {path / PAGE}."
        summary = lambda: as_json(made.content | {"folder": str(path)})
        print_result(summary() if self.json else text)
        write_page(path, raises=self.debug)
        if not made.is_stopped:
            return FAILED if made.content["failures"] else DONE
        only = [] if self.only is None else ["--only", self.only]
        again = shlex.join(["vrba", "compare", "--resume", str(path), *only])
        sys.stderr.write(f"Stopped and saved. Resume with: {again}\n")
        return INTERRUPTED


def _check(flags: Compare) -> None:
    """Raise if flags contradict each other."""
    for name in ("policy", "potential"):
        if (value := getattr(flags.recipe, name)) is not None:
            raise UsageError(
                f"`--{name} {value}` would be the same for every method: write it into "
                "`--policies`, as in uniform,default:exponential."
            )
    num_seeds = DEFAULT_SEEDS if flags.seeds is None else flags.seeds
    if flags.data is None:
        flags.check_flags(num_seeds)
    check_budget(flags.seed, num_seeds, flags.minutes, flags.diagnose)
    if flags.data is not None and flags.target is not None:
        raise UsageError("Give a problem or `--data`, not both.")
    if flags.jobs is not None and flags.jobs < 1:
        raise UsageError(f"`--jobs` must be at least 1, got {flags.jobs}.")
    if flags.out is not None:
        ComparisonFolder(flags.out).check_free()
    kept = {name: getattr(flags, name) for name in (*_WITH_RESUME, "words")}
    if flags.resume is not None and Compare(**kept) != flags:
        raise UsageError(
            "`--resume` keeps the settings of the comparison: only TARGET, `--data`, "
            "`--only`, `--jobs`, `--seeds` and `--json` can be given with it."
        )


def _dtype(flags: Compare) -> str:
    """The precision of a comparison, new or stored."""
    asked = (flags.recipe.dtype, flags.recipe.recipe)
    if flags.resume is not None:
        stored = ComparisonFolder(flags.resume).read()[0].flags
        asked = (stored.get("dtype"), stored.get("recipe"))
    return dtype_asked(*asked)


def _begin(flags: Compare) -> Made:
    case, run_flags = _case_and_flags(flags)
    words = None if flags.policies is None else flags.policies.split(",")
    recipes = methods_of(case, words)
    target = flags.data or flags.target or ""
    name = name_of(target) if flags.data is None else Path(target).stem
    out = flags.out or free_folder(Path("runs") / f"compare-{name}")
    return compare_in_processes(
        case,
        recipes,
        ComparisonFolder(out),
        target=target,
        param=flags.param,
        flags=run_flags,
        first_seed=flags.seed,
        num_seeds=flags.seeds or DEFAULT_SEEDS,
        jobs=flags.jobs,
        only=flags.only,
    )


def _resume(flags: Compare, path: Path) -> Made:
    case, target = _stored_case(flags, path), flags.data or flags.target
    settings: dict[str, Any] = {"jobs": flags.jobs, "only": flags.only}
    settings |= {"target": target, "num_seeds": flags.seeds}
    return resume_in_processes(case, ComparisonFolder(path), **settings)


def _case_and_flags(flags: Compare) -> tuple[AbstractCase, dict[str, Any]]:
    """What is compared, with the shared recipe, and the flags of every run."""
    recipe = dataclasses.asdict(flags.recipe)
    own = {name: getattr(flags, name) for name in _ONLY_DATA}
    if flags.data is None:
        _refuse(own, "data: leave it out, or give `--data`")
        minutes = flags.minutes
        if minutes is None and flags.recipe.steps is None:
            minutes = DEFAULT_MINUTES
        problem = load_problem(flags.target or "", flags.param)
        made = new_recipe(flags.recipe, problem, minutes, None, has_polish=False)
        given = recipe | {"minutes": minutes, "diagnose": flags.diagnose}
        return ProblemCase(problem, made), given
    shared = {name: recipe.pop(name) for name in _SHARED}
    diagnose = None if flags.diagnose == Compare.diagnose else flags.diagnose
    only_problem = recipe | {"param": flags.param or None, "diagnose": diagnose}
    _refuse(only_problem, "problems: leave it out, or `--data`")
    given = own | shared
    pairs = open_pairs(data_file(flags.data, given.pop("scale")))
    made = new_operator_recipe(OperatorFlags(**given), pairs)
    given |= {"scale": flags.scale, "minutes": flags.minutes}
    return DataCase(pairs, made, flags.data), given


def _stored_case(flags: Compare, path: Path) -> AbstractCase:
    """What a stored comparison compares, to see whether it has changed."""
    settings, _ = ComparisonFolder(path).read()
    target = flags.data or flags.target or settings.typed_target()
    if settings.command == "train":
        pairs = open_pairs(data_file(target, settings.flags.get("scale")))
        return DataCase(pairs, default_operator_recipe(pairs), target)
    problem = load_problem(target, settings.param)
    return ProblemCase(problem, Recipe())


def _refuse(flags: dict[str, Any], what: str) -> None:
    for name, value in flags.items():
        if value is not None:
            raise UsageError(f"`--{name.replace('_', '-')}` is for {what}.")
