"""From flags to recipes: what is not given depends on the problem, data or run."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from .. import models, operators, pinn
from ..adapt import AbstractPolicy, AbstractPotential, AbstractTimed
from ..compare import (
    known_optimizers,
    known_potentials,
    known_recipes,
    listed,
    make_policy,
    named_in,
    operator_methods,
    pick,
    with_operator_method,
    with_potential,
    with_time_axis,
)
from ..core import InputError, describe, rebuild, use_precision
from ..data import Pairs
from ..models import MLP, AbstractArchitecture, AbstractOperatorArchitecture
from ..operators import (
    AbstractFunctionLoss,
    OperatorRecipe,
    check_samples,
    default_operator_recipe,
    fitted_model,
    methods,
)
from ..optim import AbstractOptimizer, Cosine
from ..pinn import Recipe, Solution, default_recipe, evaluator_from
from ..problems import Formulation, Problem
from ..runs import SOLVE, TRAIN, RunFolder, load_best
from ._base import UsageError
from .flags import Count, Dtype, Name, RecipeFlags, in_flags

_FLAGS = {
    "num_points": "--points",
    "pool_size": "--pool",
    "batch_size": "--batch",
    "resample_every": "--resample-every",
    "num_steps": "--steps",
    "max_steps": "--steps",
    "width": "--width",
    "depth": "--depth",
}
_POOL_FACTOR = 8  # candidates for each training point, if only the latter are given


def new_recipe(
    flags: RecipeFlags, problem: Problem, minutes: float | None, start: Path | None
) -> Recipe:
    """The default or published recipe, changed by the flags."""
    if flags.recipe is None:
        base = _default(flags, problem, minutes, start)
    else:
        base = _published(flags, flags.recipe, problem, start)
    recipe = _with_flags(base, flags)
    if not isinstance(recipe.policy, AbstractTimed):
        return recipe
    policy = with_time_axis(recipe.policy, problem.domain.coordinates)
    return dataclasses.replace(recipe, policy=policy)


def resumed_recipe(flags: RecipeFlags, run: Path) -> Recipe:
    """The recipe of a run, changed by the flags."""
    described = dict(_described(run))
    for part in ("optimizer", "policy"):
        if _is_readable(described[part]):
            continue
        if getattr(flags, part) is None:
            raise UsageError(
                f"The {part} of `{run}` cannot be read from the folder: give it again "
                f"with `--{part} NAME`."
            )
        described[part] = describe(getattr(Recipe(), part))  # replaced below
    base: Any = rebuild(described, pinn.known_classes())
    optimizer = _optimizer(flags)
    if optimizer is not None:
        base = dataclasses.replace(base, optimizer=optimizer)
    return _with_flags(base, flags)


def dtype_asked(dtype: str | None, recipe: str | None) -> str:
    """The dtype of a new run: as given, or that of a published recipe."""
    if dtype is not None or recipe is None:
        return dtype or "float64"
    return pick("recipe", recipe, known_recipes())().dtype


def dtype_of(run: Path) -> str:
    """The dtype of an existing run."""
    return _described(run)["dtype"]


def unreadable_parts(recipe: Recipe) -> list[str]:
    """The parts that a run folder cannot store, to be given again on resume."""
    parts = {"optimizer": recipe.optimizer, "policy": recipe.policy}
    return [name for name, part in parts.items() if not _is_readable(describe(part))]


def load_start(run: Path, problem: Problem) -> Solution:
    """The solution in a folder, to initialise the network of a problem.

    The problem may differ from that of the folder if it has as many fields.
    """
    folder = RunFolder(run)
    manifest, described = folder.read_manifest(SOLVE), _described(run)
    model = rebuild(described["model"], pinn.known_classes())
    recipe = Recipe(model=model, dtype=described["dtype"])
    evaluator = evaluator_from(manifest, problem, run, recipe)
    with use_precision(recipe.dtype):
        (best, last), result = load_best(folder, evaluator.initial_params())
    result |= {"manifest": manifest}
    return Solution(evaluator, best, last, folder.record(), result)


def check_start(start: Solution, recipe: Recipe, run: Path) -> None:
    """Raise if the initial solution has another network or dtype than the recipe."""
    old = start.recipe
    if (old.model, old.dtype) != (recipe.model, recipe.dtype):
        raise UsageError(
            f"`--init-from {run}` has the network {old.model} in {old.dtype}, but the "
            f"flags give {recipe.model} in {recipe.dtype}: use the same `--width`, "
            "`--depth` and `--dtype`."
        )


def _is_readable(description: Any) -> bool:
    try:
        rebuild(description, pinn.known_classes())
    except InputError:
        return False
    return True


def _described(run: Path) -> dict[str, Any]:
    try:
        return RunFolder(run).read_manifest(SOLVE)["recipe"]
    except InputError as error:
        raise UsageError(str(error)) from error


def _default(
    flags: RecipeFlags, problem: Problem, minutes: float | None, start: Path | None
) -> Recipe:
    optimizer, formulation = _optimizer(flags), Formulation(problem)
    base = default_recipe(formulation, minutes, optimizer)
    if start is not None:  # training begins with the network of that run
        model = rebuild(_described(start)["model"], pinn.known_classes())
        base = dataclasses.replace(base, model=model)
    model = _model(base, flags) or base.model
    return default_recipe(formulation, minutes, optimizer, model)


def _published(
    flags: RecipeFlags, name: str, problem: Problem, start: Path | None
) -> Recipe:
    """A published recipe; a problem that has a network of its own keeps it."""
    make = pick("recipe", name, known_recipes())
    if start is not None:
        raise UsageError(
            f"`--recipe {name}` sets the network: leave out `--init-from`."
        )
    recipe, optimizer = make(_potential(flags)), _optimizer(flags)
    if problem.model is not None:
        recipe = dataclasses.replace(recipe, model=problem.model)
    if optimizer is None:
        return recipe
    if optimizer.needs_residuals:
        raise UsageError(
            f"`--optimizer {flags.optimizer}` does not fit `--recipe {name}`, which "
            "makes many cheap steps: leave one of them out."
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


def _with_flags(base: Recipe, flags: RecipeFlags) -> Recipe:
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
    with _messages_name_flags():
        new |= {"policy": _policy(base, flags), "model": _model(base, flags)}
        return dataclasses.replace(base, **_given(new))


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


@contextmanager
def _messages_name_flags() -> Iterator[None]:
    """Turn errors about settings into errors about the flags that set them."""
    try:
        yield
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
    sizes = _given({"width": flags.width, "depth": flags.depth})
    if not sizes:
        return None
    if not isinstance(base.model, MLP):
        raise UsageError(
            f"`--{next(iter(sizes))}` applies to an MLP only, but the network is "
            f"{base.model}."
        )
    return dataclasses.replace(base.model, **sizes)


# Operators.

_WEIGHTS: dict[str, Callable[[OperatorRecipe, Pairs], OperatorRecipe]] = {
    "point": lambda recipe, pairs: recipe,
    "time": methods.weights_per_time,
    "coarse": methods.coarse_weights,
    "half": methods.half_precision_weights,
}


def known_models() -> dict[str, type[AbstractOperatorArchitecture]]:
    """Operator networks by name."""
    return named_in(models, AbstractOperatorArchitecture)


def known_losses() -> dict[str, type[AbstractFunctionLoss]]:
    """Operator losses by name."""
    return named_in(operators, AbstractFunctionLoss)


@dataclasses.dataclass(frozen=True)
class OperatorFlags:
    """Defaults depend on the data."""

    model: Annotated[Name, arg(help=listed(known_models()))] = None
    policy: Annotated[Name, arg(help=", ".join(operator_methods()))] = None
    loss: Annotated[Name, arg(help=listed(known_losses()))] = None
    batch: Count = None
    """Number of samples in a step."""
    weights: Name = None
    """Resolution of the weights: one for each `point` (default), one for each `time`, a
    `coarse` grid, or `half` precision."""
    resample_every: Count = None
    """Number of steps between two updates of the sampling distribution (default: one
    epoch)."""
    steps: Count = None
    """Maximum number of steps, over which the learning rate decays to zero."""
    patience: Count = None
    """Stop after this many checks without a lower validation error."""
    dtype: Dtype = None


def new_operator_recipe(flags: OperatorFlags, pairs: Pairs) -> OperatorRecipe:
    """The default recipe for the data, changed by the flags."""
    new: dict[str, Any] = {"batch_size": flags.batch, "dtype": flags.dtype}
    new |= {"resample_every": flags.resample_every, "patience": flags.patience}
    if flags.loss is not None:
        new["loss"] = pick("loss", flags.loss, known_losses())()
    with _messages_name_flags():
        model = None
        if flags.model is not None:
            model = fitted_model(pick("model", flags.model, known_models()), pairs)
        recipe = default_operator_recipe(pairs, flags.steps, model)
        if flags.policy is not None:
            recipe = with_operator_method(recipe, flags.policy)
        if flags.weights is not None:
            recipe = pick("kind of weights", flags.weights, _WEIGHTS)(recipe, pairs)
        recipe = dataclasses.replace(recipe, **_given(new))
        check_samples(recipe, pairs)
        return recipe


def resumed_operator_recipe(run: Path, steps: int | None) -> OperatorRecipe:
    """The recipe of a run, with another number of steps if given."""
    recipe = rebuild(
        RunFolder(run).read_manifest(TRAIN)["recipe"], operators.known_classes()
    )
    if steps is None:
        return recipe
    if isinstance(getattr(recipe.optimizer, "schedule", None), Cosine):
        raise UsageError(
            f"`--steps {steps}` cannot be given with `--resume`: the learning rate of "
            f"`{run}` decays to zero over {recipe.max_steps} steps. Start a new run."
        )
    return dataclasses.replace(recipe, max_steps=steps)
