"""From flags to a recipe: what is not said is chosen from the problem or the run."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from ..adapt import AbstractPolicy, AbstractPotential, AbstractTimed
from ..compare import (
    along_time,
    known_optimizers,
    known_policies,
    known_potentials,
    known_recipes,
    listed,
    make_policy,
    pick,
    with_potential,
)
from ..core import InputError, describe, load_tree, precision, rebuild
from ..models import MLP, AbstractArchitecture
from ..optim import AbstractOptimizer
from ..problems import Formulation, Problem
from ..train import Recipe, RunFolder, Solution, default_recipe
from ..train.about import known_classes
from ..train.solution import trainer_from
from ._base import UsageError, in_flags
from .flags import Count, Dtype, Name

_FLAGS = {
    "num_points": "--points",
    "pool_size": "--pool",
    "resample_every": "--resample-every",
    "max_steps": "--steps",
    "width": "--width",
    "depth": "--depth",
}
_POOL_FACTOR = 8  # points of the pool for each that is drawn, if only these are given


@dataclasses.dataclass(frozen=True)
class RecipeFlags:
    """What is not given is chosen from the problem, the optimizer and the time."""

    recipe: Annotated[Name, arg(help=f"as published: {listed(known_recipes())}")] = None
    optimizer: Annotated[Name, arg(help=listed(known_optimizers()))] = None
    policy: Annotated[Name, arg(help=listed(known_policies()))] = None
    potential: Annotated[Name, arg(help=listed(known_potentials()))] = None
    points: Count = None
    """Points that are drawn at a time."""
    pool: Count = None
    """Points that they are drawn from."""
    resample_every: Count = None
    """Steps until points are drawn anew."""
    width: Count = None
    """Units in a layer of the network."""
    depth: Count = None
    """Hidden layers of the network."""
    steps: Count = None
    """Steps at most."""
    dtype: Dtype = None


def new_recipe(
    flags: RecipeFlags,
    problem: Problem,
    minutes: float | None,
    start: Path | None,
) -> Recipe:
    """The default recipe of the problem and the optimizer, with the flags on top."""
    base = _published(flags, problem, start)
    if base is None:
        base = _default(flags, problem, minutes, start)
    recipe = _changed(base, flags)
    if not isinstance(recipe.policy, AbstractTimed):
        return recipe
    policy = along_time(recipe.policy, problem.domain.coordinates)
    return dataclasses.replace(recipe, policy=policy)


def dtype_asked(dtype: str | None, recipe: str | None) -> str:
    """The type of all numbers of a new run: as given, or that of a recipe by name."""
    if dtype is not None or recipe is None:
        return dtype or "float64"
    return pick("recipe", recipe, known_recipes())().dtype


def resumed_recipe(flags: RecipeFlags, run: Path) -> Recipe:
    """The recipe of a run, with the flags on top."""
    described = dict(_described(run))
    for part in ("optimizer", "policy"):
        if _is_readable(described[part]):
            continue
        if getattr(flags, part) is None:
            raise UsageError(
                f"The {part} of `{run}` cannot be read from the folder: give it again, "
                f"`--{part} NAME`."
            )
        described[part] = describe(getattr(Recipe(), part))  # given again below
    base: Any = rebuild(described, known_classes())
    optimizer = _optimizer(flags)
    if optimizer is not None:
        base = dataclasses.replace(base, optimizer=optimizer)
    return _changed(base, flags)


def unreadable_parts(recipe: Recipe) -> list[str]:
    """What cannot be read back from the folder of a run, and must be given again."""
    parts = {"optimizer": recipe.optimizer, "policy": recipe.policy}
    return [name for name, part in parts.items() if not _is_readable(describe(part))]


def dtype_of(run: Path) -> str:
    """The type of all numbers of a run."""
    return _described(run)["dtype"]


def load_start(run: Path, problem: Problem) -> Solution:
    """The solution in a folder, to begin from. The problem may have changed since: only
    the network is taken, and that must have been made for as many fields."""
    folder = RunFolder(run)
    about = folder.about_problem()
    described = _described(run)
    model = rebuild(described["model"], known_classes())
    small = Recipe(model=model, dtype=described["dtype"], num_points=1, pool_size=1)
    trainer = trainer_from(about, problem, run, small)
    with precision(small.dtype):
        like = trainer.build()
        (best, last), header = load_tree(folder.checkpoint("best"), (like, like))
    return Solution(trainer, best, last, folder.record(), header | {"about": about})


def check_start(start: Solution, recipe: Recipe, run: Path) -> None:
    """Refuses a network or a precision that is not that of the start."""
    old = start.trainer.recipe
    if (old.model, old.dtype) != (recipe.model, recipe.dtype):
        raise UsageError(
            f"`--init-from {run}` has the network {old.model} in {old.dtype}, the flags "
            f"ask for {recipe.model} in {recipe.dtype}: leave `--width`, `--depth` and "
            "`--dtype` as they were."
        )


def _is_readable(description: Any) -> bool:
    try:
        rebuild(description, known_classes())
    except InputError:
        return False
    return True


def _described(run: Path) -> dict[str, Any]:
    try:
        return RunFolder(run).about_problem()["recipe"]
    except InputError as error:
        raise UsageError(str(error)) from error


def _default(
    flags: RecipeFlags,
    problem: Problem,
    minutes: float | None,
    start: Path | None,
) -> Recipe:
    """What suits the problem, the optimizer, the time and the network."""
    optimizer, formulation = _optimizer(flags), Formulation(problem)
    base = default_recipe(formulation, minutes, optimizer)
    if start is not None:  # its network is what training begins with
        model = rebuild(_described(start)["model"], known_classes())
        base = dataclasses.replace(base, model=model)
    model = _model(base, flags) or base.model
    return default_recipe(formulation, minutes, optimizer, model)


def _published(
    flags: RecipeFlags, problem: Problem, start: Path | None
) -> Recipe | None:
    """A recipe by its name, with the potential that is asked for; a problem that brings
    a network keeps it."""
    if flags.recipe is None:
        return None
    make = pick("recipe", flags.recipe, known_recipes())
    given = f"`--recipe {flags.recipe}`"
    if start is not None:
        raise UsageError(f"{given} brings a network: leave out `--init-from`.")
    recipe, optimizer = make(_potential(flags)), _optimizer(flags)
    if problem.model is not None:
        recipe = dataclasses.replace(recipe, model=problem.model)
    if optimizer is None:
        return recipe
    if optimizer.needs_residuals:
        raise UsageError(
            f"`--optimizer {flags.optimizer}` needs another recipe than {given}, which "
            "is for many cheap steps: leave one of them out."
        )
    return dataclasses.replace(recipe, optimizer=optimizer)


def _potential(flags: RecipeFlags) -> AbstractPotential | None:
    if flags.potential is None:
        return None
    return pick("potential", flags.potential, known_potentials())()


def _optimizer(flags: RecipeFlags) -> AbstractOptimizer | None:
    if flags.optimizer is None:
        return None
    return pick("optimizer", flags.optimizer, known_optimizers())()


def _changed(base: Recipe, flags: RecipeFlags) -> Recipe:
    """The recipe with what the flags say."""
    new: dict[str, Any] = {
        "resample_every": flags.resample_every,
        "max_steps": flags.steps,
        "dtype": flags.dtype,
        "num_points": flags.points,
        "pool_size": flags.pool,
    }
    if flags.pool is None and flags.points is not None:
        new["pool_size"] = max(base.pool_size, _POOL_FACTOR * flags.points)
    if flags.points is None and flags.pool is not None:
        new["num_points"] = min(base.num_points, flags.pool)
    try:
        new |= {"policy": _policy(base, flags), "model": _model(base, flags)}
        given = {name: value for name, value in new.items() if value is not None}
        return dataclasses.replace(base, **given)
    except UsageError:
        raise
    except InputError as error:
        raise UsageError(in_flags(str(error), _FLAGS)) from error


def _policy(base: Recipe, flags: RecipeFlags) -> AbstractPolicy | None:
    potential = _potential(flags)
    if flags.policy is not None:
        return make_policy(flags.policy, potential, base.policy)
    return None if potential is None else with_potential(base.policy, potential)


def _model(base: Recipe, flags: RecipeFlags) -> AbstractArchitecture | None:
    sizes = {"width": flags.width, "depth": flags.depth}
    sizes = {name: size for name, size in sizes.items() if size is not None}
    if not sizes:
        return None
    if not isinstance(base.model, MLP):
        raise UsageError(f"`--{next(iter(sizes))}` is for an MLP, not {base.model}.")
    return dataclasses.replace(base.model, **sizes)
