"""The settings for training an operator."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from ..adapt import AbstractPolicy, Exponential, Hybrid
from ..core import InputError, check_count, check_kind
from ..data import Pairs
from ..models import AbstractOperatorArchitecture
from ..optim import AbstractMethod, AbstractOptimizer, Adam, Cosine
from ..runs import known_classes as classes_of_rooms
from . import batches as batches_module
from . import losses as losses_module
from .batches import AbstractBatches, Drawn
from .losses import AbstractFunctionLoss, MeanSquare


class OperatorRecipe(eqx.Module):
    """Settings for training an operator.

    `model` maps a function `[..., channels]` and places `[..., dim]` to the values
    `[..., channels]` there: an architecture, or a pytree of your own.

    Sampling: `policy` and `batches` choose the functions of each step. The sampling
    distribution is updated every `resample_every` steps, by default every epoch. With
    `split_axis="t"` each time of a function is a sample of its own.

    Selection: every `check_every` steps the validation error is measured; the iterate
    with the lowest one is selected. Training stops after `patience` checks without a
    lower one.

    `subtract_mean=False` keeps the means of the data; errors are relative to what the
    network sees. `detach_weights=False` differentiates through the weights, as the
    published program for operators does.
    """

    model: AbstractOperatorArchitecture | Callable[..., Any]
    optimizer: AbstractOptimizer = Adam()
    policy: AbstractPolicy = Hybrid(Exponential())
    batches: AbstractBatches = Drawn()
    loss: AbstractFunctionLoss = MeanSquare()
    batch_size: int = 32
    max_steps: int = 20_000
    resample_every: int | None = None
    check_every: int = 500
    patience: int | None = None
    split_axis: str | None = None
    subtract_mean: bool = True
    detach_weights: bool = True
    dtype: str = "float32"

    def __check_init__(self):
        """Raise if a setting is out of range, or two of them do not fit together."""
        counts = {"batch_size": self.batch_size, "max_steps": self.max_steps}
        for name in ("resample_every", "patience"):
            if getattr(self, name) is not None:
                counts[name] = getattr(self, name)
        check_count(**counts, check_every=self.check_every)
        check_kind(
            optimizer=(self.optimizer, AbstractOptimizer),
            policy=(self.policy, AbstractPolicy),
            batches=(self.batches, AbstractBatches),
            loss=(self.loss, AbstractFunctionLoss),
        )
        if self.dtype not in ("float32", "float64"):
            raise InputError(
                f"`dtype` must be 'float32' or 'float64', got {self.dtype!r}."
            )
        _check_optimizer(self)
        _check_policy(self)


def _check_optimizer(recipe: OperatorRecipe) -> None:
    optimizer = recipe.optimizer
    if optimizer.needs_residuals or not isinstance(optimizer, AbstractMethod):
        raise InputError(
            f"`optimizer` is {type(optimizer).__name__}; operators need a first-order "
            "optimizer without stages, such as `Adam`."
        )
    schedule = getattr(optimizer, "schedule", None)
    if isinstance(schedule, Cosine) and recipe.max_steps > schedule.num_steps:
        raise InputError(
            f"`max_steps` is {recipe.max_steps}, but the learning rate is zero from "
            f"step {schedule.num_steps} on: use at most {schedule.num_steps} steps, or "
            "start a new run with a longer schedule."
        )


def _check_policy(recipe: OperatorRecipe) -> None:
    policy = recipe.policy
    if policy.objective.loss_power != 2:
        raise InputError(
            f"`policy` has the objective {type(policy.objective).__name__}, which is "
            "not a mean of squares: use `SquaredLoss` or `ExactSquaredLoss`."
        )
    if not (recipe.detach_weights or policy.has_point_weights):
        raise InputError(
            "`detach_weights` is False, but only the weights of `Hybrid` have "
            f"gradients, not those of {type(policy).__name__}."
        )
    correction = getattr(policy, "correction", None)
    if correction is not None and correction.strength > 0:
        raise InputError(
            "`policy` has a `correction`, but here the sampling distribution is older "
            "than the weights: use a policy without `correction`."
        )


def num_samples(pairs: Pairs, split_axis: str | None) -> int:
    """The number of training samples: functions, or functions at one time."""
    if split_axis not in pairs.names or pairs.axes is None:
        return pairs.num_train
    return pairs.num_train * pairs.grid[pairs.names.index(split_axis)]


def check_samples(recipe: OperatorRecipe, pairs: Pairs) -> None:
    """Raise if the data have too few samples for the batches."""
    count = num_samples(pairs, recipe.split_axis)
    if recipe.batch_size > count:
        raise InputError(
            f"`batch_size` is {recipe.batch_size}, more than the {count} samples to "
            "train on."
        )
    recipe.batches.check(count, recipe.batch_size, recipe.resample_every)


def known_classes() -> dict[str, type]:
    """The classes that the folder of an operator's run may name."""
    rooms = classes_of_rooms(batches_module, losses_module)
    return rooms | {"OperatorRecipe": OperatorRecipe}
