"""From flags to recipes: what is not given depends on the problem, data or run."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from .. import operators, pinn
from ..adapt import AbstractPotential, AbstractTimed
from ..compare import (
    known_losses,
    known_models,
    known_optimizers,
    known_potentials,
    known_recipes,
    known_weights,
    listed,
    operator_methods,
    pick,
    policy_from_words,
    with_operator_method,
    with_time_axis,
)
from ..core import InputError, describe, rebuild
from ..data import Pairs
from ..models import MLP, AbstractArchitecture
from ..operators import (
    OperatorRecipe,
    check_samples,
    default_operator_recipe,
    fitted_model,
)
from ..optim import AbstractOptimizer
from ..pinn import Recipe, Solution, default_recipe, unreadable_parts
from ..problems import Formulation, Problem
from ..runs import SOLVE, TRAIN, RunFolder
from ._base import UsageError
from .flags import Count, Dtype, Name, RecipeFlags

_POOL_FACTOR = 8  # candidates for each training point, if only the latter are given


def new_recipe(
    flags: RecipeFlags,
    problem: Problem,
    minutes: float | None,
    start: Path | None,
    *,
    has_polish: bool = True,
) -> Recipe:
    """The default or published recipe, changed by the flags."""
    if flags.recipe is None:
        changes = {} if has_polish else {"polish": None}
        base = _default(flags, problem, minutes, start, changes)
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
    for part in unreadable_parts(described):
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


def load_initial_solution(run: Path, problem: Problem) -> Solution:
    """The solution in a folder, to initialise the network of a problem.

    The problem may differ from that of the folder if it has as many fields.
    """
    recipe = Recipe(model=_model_of(run), dtype=dtype_of(run))
    return Solution.load(run, problem, recipe, allow_change=True)


def _described(run: Path) -> dict[str, Any]:
    try:
        return RunFolder(run).read_manifest(SOLVE)["recipe"]
    except InputError as error:
        raise UsageError(str(error)) from error


def _default(
    flags: RecipeFlags,
    problem: Problem,
    minutes: float | None,
    start: Path | None,
    changes: dict[str, Any],
) -> Recipe:
    optimizer, formulation = _optimizer(flags), Formulation(problem)
    if flags.dtype is not None:
        changes = changes | {"dtype": flags.dtype}
    base = default_recipe(formulation, minutes, optimizer, **changes)
    if start is not None:  # training begins with the network of that run
        base = dataclasses.replace(base, model=_model_of(start))
    model = _model(base, flags) or base.model
    return default_recipe(formulation, minutes, optimizer, model, **changes)


def _model_of(run: Path) -> Any:
    return rebuild(_described(run)["model"], pinn.known_classes())


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
    new["policy"] = policy_from_words(flags.policy, flags.potential, base.policy)
    new["model"] = _model(base, flags)
    return dataclasses.replace(base, **_given(new))


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


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
    model = None
    if flags.model is not None:
        model = fitted_model(pick("model", flags.model, known_models()), pairs)
    recipe = default_operator_recipe(pairs, flags.steps, model)
    if flags.policy is not None:
        recipe = with_operator_method(recipe, flags.policy)
    if flags.weights is not None:
        change = pick("kind of weights", flags.weights, known_weights())
        recipe = change(recipe, pairs)
    recipe = dataclasses.replace(recipe, **_given(new))
    check_samples(recipe, pairs)
    return recipe


def resumed_operator_recipe(
    run: Path, steps: int | None, patience: int | None
) -> OperatorRecipe:
    """The recipe of a run, with another number of steps or patience if given."""
    described = RunFolder(run).read_manifest(TRAIN)["recipe"]
    recipe = rebuild(described, operators.known_classes())
    return dataclasses.replace(
        recipe, **_given({"max_steps": steps, "patience": patience})
    )
