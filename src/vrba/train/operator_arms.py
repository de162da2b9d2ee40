"""Arms to compare: a recipe for operators, with and without adaptivity."""

import dataclasses

from ..adapt import AbstractPotential, Hybrid, presets
from ..optim import Adam
from .batches import Drawn, Epochs
from .operator_recipe import OperatorRecipe

_PUBLISHED_L2 = 1e-4


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
