"""Everything that decides how an operator is trained."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from ..adapt import AbstractPolicy, Exponential, Hybrid
from ..core import InputError, check_count, check_kind
from ..data import Pairs
from ..models import AbstractOperatorArchitecture
from ..optim import AbstractMethod, AbstractOptimizer, Adam, Cosine
from .batches import AbstractBatches, Drawn
from .misfits import AbstractMisfit, MeanSquare


class OperatorRecipe(eqx.Module):
    """Settings of a run.

    `model` is called with a function `[..., channels]` and places `[..., dim]` and
    returns `[..., channels]` there: any pytree of your own, or an architecture that is
    built. The distribution that functions are drawn from is refreshed every
    `resample_every` steps, an epoch unless given. `splits` names the axis of time if a
    sample is to be one time of a function. Every `check_every` steps the error on the
    validation set is measured; the iterate where it was lowest is the one selected, and
    training ends early after `patience` checks without a better one. `centres` says
    whether means are taken out of the data; errors are relative to what is left.
    `detaches` says whether the weights count as constants where the loss is
    differentiated; if not, a step also lowers it by making weights smaller.
    """

    model: AbstractOperatorArchitecture | Callable[..., Any]
    optimizer: AbstractOptimizer = Adam()
    policy: AbstractPolicy = Hybrid(Exponential())
    batches: AbstractBatches = Drawn()
    misfit: AbstractMisfit = MeanSquare()
    batch_size: int = 32
    max_steps: int = 20_000
    resample_every: int | None = None
    check_every: int = 500
    patience: int | None = None
    splits: str | None = None
    centres: bool = True
    detaches: bool = True
    dtype: str = "float32"

    def __check_init__(self):
        """Settings in range, and such that go together."""
        counts = {"batch_size": self.batch_size, "max_steps": self.max_steps}
        for name in ("resample_every", "patience"):
            if getattr(self, name) is not None:
                counts[name] = getattr(self, name)
        check_count(**counts, check_every=self.check_every)
        check_kind(
            optimizer=(self.optimizer, AbstractOptimizer),
            policy=(self.policy, AbstractPolicy),
            batches=(self.batches, AbstractBatches),
            misfit=(self.misfit, AbstractMisfit),
        )
        if self.dtype not in ("float32", "float64"):
            raise InputError(
                f"`dtype` must be 'float32' or 'float64', got {self.dtype!r}."
            )
        optimizer, policy = self.optimizer, self.policy
        is_plain = isinstance(optimizer, AbstractMethod)
        if optimizer.needs_residuals or not is_plain:
            raise InputError(
                f"`optimizer` is {type(optimizer).__name__}; operators need one that "
                "sees a loss only and stays the same, such as `Adam`."
            )
        if policy.objective.loss_power != 2:
            raise InputError(
                f"`policy` has the objective {type(policy.objective).__name__}, which "
                "is no mean of squares: take `SquaredLoss` or `ExactSquaredLoss`."
            )
        if not (self.detaches or isinstance(policy, Hybrid)):
            raise InputError(
                "`detaches` is False, but only the weights of `Hybrid` have gradients, "
                f"not those of {type(policy).__name__}."
            )
        schedule = getattr(optimizer, "schedule", None)
        if isinstance(schedule, Cosine) and self.max_steps > schedule.num_steps:
            raise InputError(
                f"`max_steps` is {self.max_steps}, but the rate of the optimizer is "
                f"zero from step {schedule.num_steps} on: make both the same."
            )
        correction = getattr(policy, "correction", None)
        if correction is not None and correction.strength > 0:
            raise InputError(
                "`policy` corrects for its draws, but here it draws from a distribution"
                " that is older than its weights: take one without `correction`."
            )


def num_samples(pairs: Pairs, splits: str | None) -> int:
    """How many there are to train on: functions, or functions at one time."""
    if splits not in pairs.names or pairs.axes is None:
        return pairs.num_train
    return pairs.num_train * pairs.grid[pairs.names.index(splits)]


def check_rows(recipe: OperatorRecipe, pairs: Pairs) -> None:
    """Refuses batches that the samples of the data cannot fill."""
    num_rows = num_samples(pairs, recipe.splits)
    if recipe.batch_size > num_rows:
        raise InputError(
            f"`batch_size` is {recipe.batch_size}, more than the {num_rows} samples to "
            "train on."
        )
    recipe.batches.check(num_rows, recipe.batch_size, recipe.resample_every)
