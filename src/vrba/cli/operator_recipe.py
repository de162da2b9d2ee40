"""From flags to a recipe for an operator, and from what was typed to data."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from .. import models
from ..compare import listed, named_in, operator_methods, pick, with_operator_method
from ..core import InputError, rebuild
from ..data import Pairs
from ..models import AbstractOperatorArchitecture
from ..optim import Cosine
from ..train import (
    OperatorRecipe,
    RunFolder,
    check_rows,
    default_operator_recipe,
    fitted_model,
    misfits,
    operator_arms,
)
from ..train.about import known_classes
from ._base import UsageError, in_flags
from .data import known_makers, make_data
from .flags import Count, Dtype, Name

_SUFFIXES = (".h5", ".hdf5", ".npz", ".mat")
_FLAGS = {
    "batch_size": "--batch",
    "num_steps": "--steps",
    "max_steps": "--steps",
    "resample_every": "--resample-every",
}
_KEPT: dict[str, Callable[[OperatorRecipe, Pairs], OperatorRecipe]] = {
    "point": lambda recipe, pairs: recipe,
    "time": operator_arms.weights_per_time,
    "coarse": operator_arms.coarse_weights,
    "half": operator_arms.half_precision_weights,
}


def known_models() -> dict[str, type[AbstractOperatorArchitecture]]:
    """The networks for operators."""
    return named_in(models, AbstractOperatorArchitecture)


def known_misfits() -> dict[str, type[misfits.AbstractMisfit]]:
    """What can be made small."""
    return named_in(misfits, misfits.AbstractMisfit)


@dataclasses.dataclass(frozen=True)
class OperatorFlags:
    """What is not given is chosen from the data."""

    model: Annotated[Name, arg(help=listed(known_models()))] = None
    policy: Annotated[Name, arg(help=", ".join(operator_methods()))] = None
    misfit: Annotated[Name, arg(help=listed(known_misfits()))] = None
    batch: Count = None
    """Samples in a step."""
    weights: Name = None
    """What is kept: a weight for each `point` (unless given), for each `time`, a
    `coarse` grid of them, or all in `half` the digits."""
    resample_every: Count = None
    """Steps until the distribution of samples is refreshed; an epoch unless given."""
    steps: Count = None
    """Steps at most, along which the rate falls to zero."""
    patience: Count = None
    """Checks on the validation set without a better error after which it ends."""
    dtype: Dtype = None


def data_file(target: str, scale: str | None) -> Path:
    """The file of pairs; those that come with vrba are made if they are not there."""
    path = Path(target)
    if path.suffix.casefold() in _SUFFIXES:
        if scale is not None:
            raise UsageError(f"`--scale {scale}` is for data that come with vrba.")
        if not path.is_file():
            raise UsageError(f"There is no file `{target}`.")
        return path
    hint = " For data of your own give their file, such as pairs.h5."
    pick("data", target, known_makers(), hint)
    return make_data(target, scale or "laptop")


def new_operator_recipe(flags: OperatorFlags, pairs: Pairs) -> OperatorRecipe:
    """The default recipe of the data, with the flags on top."""
    try:
        model = None
        if flags.model is not None:
            model = fitted_model(pick("model", flags.model, known_models()), pairs)
        recipe = default_operator_recipe(pairs, flags.steps, model)
        if flags.policy is not None:
            recipe = with_operator_method(recipe, flags.policy)
        if flags.weights is not None:
            recipe = pick("way to keep", flags.weights, _KEPT)(recipe, pairs)
        given: dict[str, Any] = {"batch_size": flags.batch, "dtype": flags.dtype}
        given |= {"resample_every": flags.resample_every, "patience": flags.patience}
        if flags.misfit is not None:
            given["misfit"] = pick("misfit", flags.misfit, known_misfits())()
        given = {name: value for name, value in given.items() if value is not None}
        recipe = dataclasses.replace(recipe, **given)
        check_rows(recipe, pairs)
        return recipe
    except UsageError:
        raise
    except InputError as error:
        raise UsageError(in_flags(str(error), _FLAGS)) from error


def resumed_operator_recipe(run: Path, steps: int | None) -> OperatorRecipe:
    """The recipe of a run, with another number of steps if given."""
    about = RunFolder(run).about_operator()
    recipe = rebuild(about["operator"], known_classes())
    if steps is not None and _has_end(recipe):
        raise UsageError(
            f"`--steps {steps}` cannot be given with `--resume`: the rate of `{run}` "
            f"falls to zero over its {recipe.max_steps} steps. Begin a new run."
        )
    return recipe if steps is None else dataclasses.replace(recipe, max_steps=steps)


def _has_end(recipe: OperatorRecipe) -> bool:
    """Whether the rate falls to zero at a step."""
    return isinstance(getattr(recipe.optimizer, "schedule", None), Cosine)


def open_target(target: str | None, scale: str | None, run: Path | None) -> Path:
    """The file that is meant, or that of a run."""
    if target is not None:
        return data_file(target, scale)
    if scale is not None:
        raise UsageError(f"`--scale {scale}` needs the name of the data.")
    file = None if run is None else RunFolder(run).about_operator().get("file")
    if file is None:
        raise UsageError(f"Give the data: a file, or one of {listed(known_makers())}.")
    if not Path(file).exists():
        raise UsageError(f"The data of the run, `{file}`, are not there: give them.")
    return Path(file)
