"""Methods for operators: the same recipe with other policies."""

import dataclasses
import math
from typing import Any

from ..adapt import AbstractPotential, Hybrid, presets
from ..core import InputError
from ..data import Pairs
from ..optim import Adam
from .batches import Drawn, Epochs
from .operator_recipe import OperatorRecipe

_PUBLISHED_L2 = 1e-4
_COARSE = 4  # points along an axis that share a weight


def uniform(recipe: OperatorRecipe) -> OperatorRecipe:
    """Uniform sampling in shuffled epochs: the fair baseline."""
    return dataclasses.replace(
        recipe, policy=presets.uniform(), batches=Epochs(), resample_every=None
    )


def uniform_as_published(recipe: OperatorRecipe) -> OperatorRecipe:
    """The published baseline, which is weaker than `uniform`: functions in the order of
    the file, and Adam with coupled weight decay. (Toscano et al. 2025)"""
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Adam):
        raise InputError(
            f"`recipe` has the optimizer {type(optimizer).__name__}, but the published "
            "baseline needs `Adam`."
        )
    return dataclasses.replace(
        uniform(recipe),
        optimizer=dataclasses.replace(optimizer, l2=_PUBLISHED_L2),
        batches=Epochs(shuffles=False),
    )


def adaptive(recipe: OperatorRecipe, potential: AbstractPotential) -> OperatorRecipe:
    """Adaptive sampling of functions and adaptive weights of points, by this
    potential."""
    policy = recipe.policy
    usual = policy if isinstance(policy, Hybrid) else Hybrid(potential)
    policy = dataclasses.replace(usual, potential=potential)
    return dataclasses.replace(recipe, policy=policy, batches=Drawn())


def weights_per_time(recipe: OperatorRecipe, pairs: Pairs) -> OperatorRecipe:
    """One weight per time of a function."""
    if "t" not in pairs.names:
        raise InputError(
            "Weights per time need functions with an axis `t`, got the "
            f"coordinates {', '.join(pairs.names)}."
        )
    axes = _axes(recipe, pairs).items()
    cells = tuple(1 if name == "t" else count for name, count in axes)
    return _with_policy(recipe, cells=cells)


def coarse_weights(recipe: OperatorRecipe, pairs: Pairs) -> OperatorRecipe:
    """One weight for up to four neighbouring points along each axis of a grid."""
    counts = _axes(recipe, pairs).values()
    return _with_policy(recipe, cells=tuple(math.gcd(n, _COARSE) for n in counts))


def half_precision_weights(recipe: OperatorRecipe, pairs: Pairs) -> OperatorRecipe:
    """Weights stored in half precision."""
    del pairs
    return _with_policy(recipe, weight_dtype="float16")


def _axes(recipe: OperatorRecipe, pairs: Pairs) -> dict[str, int]:
    """The number of points along each axis of a sample."""
    if pairs.axes is None:
        raise InputError("Shared weights need functions on a grid.")
    axes = dict(zip(pairs.names, pairs.grid, strict=True))
    return {name: count for name, count in axes.items() if name != recipe.splits}


def _with_policy(recipe: OperatorRecipe, **settings: Any) -> OperatorRecipe:
    if not isinstance(recipe.policy, Hybrid):
        raise InputError(
            f"`recipe` has the policy {type(recipe.policy).__name__}, which has no "
            "weights of points."
        )
    policy = dataclasses.replace(recipe.policy, **settings)
    return dataclasses.replace(recipe, policy=policy)
