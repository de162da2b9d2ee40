"""From the flags of `vrba compare` to what is compared."""

import dataclasses
from pathlib import Path
from typing import Any

from ..compare import (
    DEFAULT_MINUTES,
    DEFAULT_SEEDS,
    AbstractCase,
    ComparisonFolder,
    DataCase,
    ProblemCase,
    known_policies,
    known_problems,
    listed,
    methods_of,
    operator_methods,
)
from ..core import InputError
from ..data import open_pairs
from ..train import Recipe, default_operator_recipe
from ._base import UsageError, check_seeds, check_share, in_flags
from .data import known_makers
from .operator_recipe import OperatorFlags, data_file, new_operator_recipe
from .recipe import dtype_asked, new_recipe
from .target import load_problem

POLICIES_HELP = (
    f"POLICY or POLICY:POTENTIAL: {listed(known_policies())}; with --data "
    f"{', '.join(operator_methods())}"
)
DATA_HELP = f"Train operators on a file of pairs, or on {listed(known_makers())}"
_WITH_RESUME = ("target", "data", "resume", "only", "jobs", "seeds", "json", "debug")
_FLAGS = {"policies": "--policies", "batch_size": "--batch", "seeds": "--seeds"}
_OF_DATA = ("scale", "model", "batch")
_SHARED = ("steps", "resample_every", "dtype")  # by problems and data


def check_flags(flags: Any) -> None:
    """Raise if flags of `vrba compare` contradict each other."""
    for name in ("policy", "potential"):
        if (value := getattr(flags.recipe, name)) is not None:
            raise UsageError(
                f"`--{name} {value}` would be the same for every method: write it into "
                "`--policies`, as in uniform,default:exponential."
            )
    check_share(flags.diagnose)
    check_seeds(flags.seed, DEFAULT_SEEDS if flags.seeds is None else flags.seeds)
    if flags.jobs is not None and flags.jobs < 1:
        raise UsageError(f"`--jobs` must be at least 1, got {flags.jobs}.")
    if flags.minutes is not None and not flags.minutes > 0:
        raise UsageError(f"`--minutes` must be positive, got {flags.minutes:g}.")
    if flags.resume is None and (flags.target is None) == (flags.data is None):
        raise UsageError(
            "Give a problem to solve: FILE.py, or one of "
            f"{listed(known_problems())}; or data, `--data FILE` or one of "
            f"{listed(known_makers())}; or continue with `--resume DIR`."
        )
    if flags.out is not None:
        ComparisonFolder(flags.out).check_free()
    kept = {name: getattr(flags, name) for name in (*_WITH_RESUME, "words")}
    if flags.resume is not None and type(flags)(**kept) != flags:
        raise UsageError(
            "`--resume` keeps the settings of the comparison: only TARGET, `--data`, "
            "`--only`, `--jobs`, `--seeds` and `--json` can be given with it."
        )


def dtype_of_flags(flags: Any) -> str:
    """The precision of a comparison, new or stored."""
    asked = (flags.recipe.dtype, flags.recipe.recipe)
    if flags.resume is not None:
        stored = ComparisonFolder(flags.resume).read()[0].flags
        asked = (stored.get("dtype"), stored.get("recipe"))
    return dtype_asked(*asked)


def case_and_flags(flags: Any) -> tuple[AbstractCase, dict[str, Any]]:
    """What is compared, with the shared recipe, and the flags of every run."""
    recipe = dataclasses.asdict(flags.recipe)
    own = {name: getattr(flags, name) for name in _OF_DATA}
    if flags.data is None:
        _refuse(own, "data: leave it out, or give `--data`")
        minutes = flags.minutes
        if minutes is None and flags.recipe.steps is None:
            minutes = DEFAULT_MINUTES
        problem = load_problem(flags.target, flags.param)
        made = new_recipe(flags.recipe, problem, minutes, None)
        given = recipe | {"minutes": minutes, "diagnose": flags.diagnose}
        return ProblemCase(problem, made), given
    shared = {name: recipe.pop(name) for name in _SHARED}
    diagnose = None if flags.diagnose == type(flags).diagnose else flags.diagnose
    of_problem = recipe | {"param": flags.param or None, "diagnose": diagnose}
    _refuse(of_problem, "problems: leave it out, or `--data`")
    given = own | shared
    pairs = open_pairs(data_file(flags.data, given.pop("scale")))
    made = new_operator_recipe(OperatorFlags(**given), pairs)
    given |= {"scale": flags.scale, "minutes": flags.minutes}
    return DataCase(pairs, made, flags.data), given


def methods_in_flags(case: AbstractCase, policies: str | None) -> dict[str, Any]:
    """The recipes of the methods `A,B`; messages name flags."""
    words = None if policies is None else policies.split(",")
    try:
        return methods_of(case, words)
    except InputError as error:
        raise UsageError(in_flags(str(error), _FLAGS)) from error


def stored_case(flags: Any, path: Path) -> AbstractCase:
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
