"""What happens with half and twice of each number: Burgers, the default recipe; and
whether half the points are better elsewhere, too.

`python -m benchmarks.sensitivity --seeds 3` writes
`results/sensitivity.json`, `docs/sensitivity.md` and its figure; it goes on where it
was stopped.
"""

import dataclasses
from functools import partial

from vrba import adapt, optim
from vrba.models import MLP
from vrba.pinn import Recipe, default_recipe
from vrba.problems import (
    Burgers,
    Helmholtz,
    KleinGordon,
    Poisson5D,
    Problem,
    Wave,
)

from . import variants
from .ablation import MINUTES, changed, usual, with_published_sizes
from .study import Group, Study

IS_LONG = True
HEAD = (
    "Burgers (viscosity 0.01/pi) with the default recipe for two minutes, and one "
    "number halved or doubled; written by `python -m benchmarks.sensitivity`. Errors "
    "are relative L2, of the iterate selected by residual, median [lowest, highest]. "
    "The learning rate is that of Adam (3x30, 4,000 of 200,000 points, redrawn after "
    "100 steps, not corrected), beside its own line. All have the same "
    "time: with more points or a larger network fewer steps fit into it. Width 40 "
    "keeps Levenberg-Marquardt, which `vrba solve --width 40` would not: beyond 5,000 "
    "parameters it takes Adam. "
    "Half the points of another problem stand beside that problem's own default."
)
OTHERS = {
    "Helmholtz": Helmholtz(),
    "Klein-Gordon": KleinGordon(),
    "Poisson in 5-D": Poisson5D(),
    "wave": Wave(),
}


def scaled(name: str, factor: float) -> Recipe:
    """A count of the default recipe, times a factor."""
    return changed(**{name: int(factor * getattr(usual(), name))})


def sized(width: int = 20, depth: int = 4) -> Recipe:
    """Another network."""
    return changed(model=MLP(width, depth))


def adam(rate: float) -> Recipe:
    """Adam with a learning rate, on 4,000 points and without a correction."""
    policy = adapt.presets.vrba_sampling()
    recipe = with_published_sizes(optim.Adam(rate))
    return dataclasses.replace(recipe, policy=policy, num_points=4000)


def with_points(problem: Problem, factor: float) -> Recipe:
    """The default recipe of a problem with so many times the points."""
    recipe = default_recipe(problem, MINUTES, polish=None)
    num_points = int(factor * recipe.num_points)
    return dataclasses.replace(recipe, num_points=num_points)


def elsewhere(name: str, problem: Problem) -> Group:
    """Half the points of another problem."""
    recipes = {
        name: partial(with_points, problem, 1.0),
        f"{name}, half the points": partial(with_points, problem, 0.5),
    }
    return Group(name, recipes, problem)


BASE, ADAM = "default", "Adam, 1e-3"
STUDY = Study(
    "sensitivity",
    "Half and twice: what changes",
    Burgers(),
    MINUTES,
    {
        "": Group(BASE, {BASE: usual}),
        "points": Group(
            BASE,
            {
                "half the points": partial(scaled, "num_points", 0.5),
                "twice the points": partial(scaled, "num_points", 2),
            },
        ),
        "pool": Group(
            BASE,
            {
                "half the pool": partial(scaled, "pool_size", 0.5),
                "twice the pool": partial(scaled, "pool_size", 2),
            },
        ),
        "resample": Group(
            BASE,
            {
                "redrawn twice as often": partial(scaled, "resample_every", 0.5),
                "redrawn half as often": partial(scaled, "resample_every", 2),
            },
        ),
        "network": Group(
            BASE,
            {
                "width 10": partial(sized, width=10),
                "width 40": partial(sized, width=40),
                "depth 2": partial(sized, depth=2),
                "depth 8": partial(sized, depth=8),
            },
        ),
        "learning rate": Group(
            ADAM,
            {
                ADAM: partial(adam, 1e-3),
                "Adam, 5e-4": partial(adam, 5e-4),
                "Adam, 2e-3": partial(adam, 2e-3),
            },
        ),
    }
    | {name: elsewhere(name, problem) for name, problem in OTHERS.items()},
    HEAD,
)

if __name__ == "__main__":
    variants.main(STUDY)
