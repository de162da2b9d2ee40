"""Which choices matter: Burgers with one thing changed at a time.

`python -m benchmarks.ablation --seeds 3` writes `results/ablation.json`,
`docs/ablation.md` and its figure; it goes on where it was stopped.
"""

import dataclasses
from functools import partial
from typing import Any

import vrba
from vrba import adapt, optim
from vrba.models import MLP
from vrba.pinn import Recipe, default_recipe
from vrba.problems import Burgers

from . import variants
from .study import Group, Study

IS_LONG = True
MINUTES = 2.0
HEAD = (
    "Burgers (viscosity 0.01/pi) with the default recipe for two minutes, and one "
    "choice changed at a time; written by `python -m benchmarks.ablation`. Errors are "
    "relative L2, of the iterate selected by residual, median [lowest, highest]. The "
    "default draws points in proportion to the residual (quadratic), corrected for it, "
    "with memory 0.7 and mix 0.8, and takes steps of Levenberg-Marquardt. Adam, and "
    "Broyden after 500 steps of Adam, are run with all else the same; then as `vrba "
    "solve --optimizer` does (points redrawn and residuals checked every 100 steps, "
    "1,000 steps of Adam before Broyden); then the latter with the network and points "
    "of Toscano et al. (3x30, 20,000 of 200,000), which was the default before. "
    "*Effective size* is the share of points that carry the weight, 1 if all count "
    "alike."
)


def usual(optimizer: optim.AbstractOptimizer | None = None) -> Recipe:
    """The default recipe."""
    return default_recipe(Burgers(), MINUTES, optimizer, polish=None)


def with_published_sizes(optimizer: optim.AbstractOptimizer) -> Recipe:
    """The recipe of an optimizer that sees no residuals, with the network and points of
    Toscano et al. (2025)."""
    sizes = {"model": MLP(30, 3), "num_points": 20_000, "pool_size": 200_000}
    return dataclasses.replace(usual(optimizer), **sizes)


def changed(**settings: Any) -> Recipe:
    """The default recipe with something else."""
    return dataclasses.replace(usual(), **settings)


def tilted(potential: adapt.AbstractPotential, **settings: Any) -> Recipe:
    """The default recipe with another potential, memory or mix."""
    policy = adapt.presets.vrba_sampling(
        potential, correction=vrba.Unbiased(), **settings
    )
    return changed(policy=policy)


def with_size(potential: adapt.AbstractPotential) -> Recipe:
    """As uneven as if half of the points counted, whatever the potential."""
    policy = adapt.presets.vrba_sampling(potential, correction=vrba.Unbiased())
    sized = dataclasses.replace(policy, temperature=vrba.EffectiveSize(0.5))
    return changed(policy=sized)


def uncorrected() -> Recipe:
    """Drawn in proportion to the residual, and not corrected."""
    return changed(policy=adapt.presets.vrba_sampling())


def weighted() -> Recipe:
    """Uniform sampling, with weights in proportion to the residual."""
    smoothing = adapt.Smoothing(memory=0.7, rate=0.3, mix=0.8, is_normalised=False)
    return changed(policy=vrba.Weighting(adapt.Quadratic(), smoothing=smoothing))


POTENTIALS = {
    "exponential, annealed": partial(tilted, adapt.Exponential()),
    "exponential, effective size 0.5": partial(with_size, adapt.Exponential()),
    "quadratic, effective size 0.5": partial(with_size, adapt.Quadratic()),
    "cubic": partial(tilted, adapt.Power(3.0)),
    "cosh": partial(tilted, adapt.Cosh()),
    "logarithmic": partial(tilted, adapt.Logarithmic()),
    "super-exponential": partial(tilted, adapt.SuperExponential()),
}
SSBROYDEN = optim.adam_ssbroyden(500)
BASE, BROYDEN, ADAM = "default", "Broyden, its recipe", "Adam, its recipe"
STUDY = Study(
    "ablation",
    "Which choices matter",
    Burgers(),
    MINUTES,
    {
        "": Group(BASE, {BASE: usual}),
        "adaptivity": Group(
            BASE,
            {
                "uniform, redrawn": partial(changed, policy=adapt.presets.uniform()),
                "not corrected": uncorrected,
                "weights, not draws": weighted,
                "RAD": partial(changed, policy=adapt.presets.rad()),
            },
        ),
        "potential": Group(BASE, POTENTIALS),
        "memory": Group(
            BASE,
            {
                "memory 0": partial(tilted, adapt.Quadratic(), memory=0.0),
                "memory 0.9": partial(tilted, adapt.Quadratic(), memory=0.9),
            },
        ),
        "mix": Group(
            BASE,
            {
                "mix 0.5": partial(tilted, adapt.Quadratic(), mix=0.5),
                "mix 1": partial(tilted, adapt.Quadratic(), mix=1.0),
            },
        ),
        "optimizer alone": Group(
            BASE,
            {
                "Broyden": partial(changed, optimizer=SSBROYDEN),
                "Adam": partial(changed, optimizer=optim.Adam()),
            },
        ),
        "optimizer and its recipe": Group(
            BASE,
            {
                BROYDEN: partial(usual, optim.adam_ssbroyden()),
                ADAM: partial(usual, optim.Adam()),
            },
        ),
        "published sizes of Broyden": Group(
            BROYDEN,
            {
                "Broyden, published sizes": partial(
                    with_published_sizes, optim.adam_ssbroyden()
                )
            },
        ),
        "published sizes of Adam": Group(
            ADAM,
            {"Adam, published sizes": partial(with_published_sizes, optim.Adam())},
        ),
    },
    HEAD,
)

if __name__ == "__main__":
    variants.main(STUDY)
