"""Arms to compare: a recipe for operators, with and without adaptivity."""

import dataclasses
import math

from ..adapt import AbstractPotential, Hybrid, presets
from ..data import Pairs
from ..optim import Adam
from .batches import Drawn, Epochs
from .operator_recipe import OperatorRecipe

_PUBLISHED_L2 = 1e-4
_COARSE = 4  # points along an axis that share a weight
KEPT = ("point", "time", "coarse", "half")


def uniform(recipe: OperatorRecipe) -> OperatorRecipe:
    """No adaptivity: every function once in an epoch, shuffled; the arm to beat."""
    return dataclasses.replace(
        recipe, policy=presets.uniform(), batches=Epochs(), redraw_every=None
    )


def uniform_as_published(recipe: OperatorRecipe) -> OperatorRecipe:
    """The baseline of Toscano et al. (2025), with what holds it back: functions in the
    order of the file, and Adam with a decay of weights that is not decoupled."""
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Adam):
        raise ValueError(
            f"`recipe` has the optimizer {type(optimizer).__name__}, but the published "
            "baseline is one of `Adam`."
        )
    return dataclasses.replace(
        uniform(recipe),
        optimizer=dataclasses.replace(optimizer, l2=_PUBLISHED_L2),
        batches=Epochs(shuffles=False),
    )


def tilted(recipe: OperatorRecipe, potential: AbstractPotential) -> OperatorRecipe:
    """Hard functions drawn more often and hard places weighed more, by this
    potential."""
    policy = recipe.policy
    usual = policy if isinstance(policy, Hybrid) else Hybrid(potential)
    policy = dataclasses.replace(usual, potential=potential)
    return dataclasses.replace(recipe, policy=policy, batches=Drawn())


def with_kept(recipe: OperatorRecipe, kept: str, pairs: Pairs) -> OperatorRecipe:
    """The recipe with fewer weights, where it has any: one for each `point`, one for
    each `time`, a `coarse` grid of them, or all in `half` the digits."""
    policy = recipe.policy
    if kept not in KEPT:
        raise ValueError(f"`kept` must be one of {', '.join(KEPT)}, got {kept!r}.")
    if not isinstance(policy, Hybrid) or kept == "point":
        return recipe
    if kept == "half":
        half = dataclasses.replace(policy, weight_dtype="float16")
        return dataclasses.replace(recipe, policy=half)
    if pairs.axes is None or (kept == "time" and "t" not in pairs.names):
        raise ValueError(
            f"`kept` is {kept!r}, which needs functions on a grid"
            + (" with an axis `t`." if kept == "time" else ".")
        )
    axes = dict(zip(pairs.names, pairs.grid, strict=True))
    if recipe.splits is not None:
        axes.pop(recipe.splits)
    coarse = {name: math.gcd(count, _COARSE) for name, count in axes.items()}
    cells = coarse if kept == "coarse" else axes | {"t": 1} if "t" in axes else axes
    policy = dataclasses.replace(policy, cells=tuple(cells.values()))
    return dataclasses.replace(recipe, policy=policy)
