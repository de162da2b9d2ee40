"""The recipes of Toscano et al. (2025) for equations."""

from ..adapt import (
    AbstractPotential,
    Exponential,
    Quadratic,
    Sampling,
    Smoothing,
    Unbiased,
    presets,
)
from ..models import MLP
from ..optim import Adam, adam_ssbroyden
from .balance import GradientNorms
from .recipe import Recipe


def adam_weighting(potential: AbstractPotential | None = None) -> Recipe:
    """Adam with weights for points and a balance of terms. (Table 1A, 300,000 steps)

    The default potential is the exponential, with `mix=0.8`; others have `mix=1`. As in
    the published program, and not in the text, weights start at 0.1, a hundredth of
    their cap, and points are also drawn by them: the quadratic potential then minimises
    the L5 norm. The initial weights of the network are those of Glorot and Bengio; the
    published ones have the same variance in all but the first and the last layer.
    """
    potential = Exponential() if potential is None else potential
    mix = 0.8 if isinstance(potential, Exponential) else 1.0
    return Recipe(
        model=MLP(width=64, depth=6),
        optimizer=Adam(),
        policy=presets.vrba_weighting(
            potential, start=0.1, mix=mix, correction=Unbiased(strength=0)
        ),
        balance=GradientNorms(inertia=0.99975, memory=0.99),
        num_points=10_000,
        pool_size=25_600,
        num_condition_points=512,
        resample_every=1,
        scans_pool=False,
        check_every=1_000,
        max_steps=300_000,
        dtype="float32",
    )


def ssbroyden_sampling(potential: AbstractPotential | None = None) -> Recipe:
    """Adam, then self-scaled Broyden with adaptive sampling. (Tables 1B and 3)

    20,000 of 200,000 points are resampled every 100 steps. The default potential is the
    quadratic. Memory 0.1, rate 0.9 and mix 1 are those of the published program, which
    made the figures; the text has 0.9, 0.1 and 0.9.
    """
    return Recipe(
        model=MLP(width=30, depth=3),
        optimizer=adam_ssbroyden(5000),
        policy=Sampling(
            Quadratic() if potential is None else potential,
            smoothing=Smoothing(memory=0.1, rate=0.9, mix=1.0),
        ),
        num_points=20_000,
        pool_size=200_000,
        num_condition_points=512,
        resample_every=100,
        check_every=100,
        max_steps=67_000,
    )
