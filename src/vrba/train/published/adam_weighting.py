"""First order, and weights that follow the residual."""

from ...adapt import AbstractPotential, Exponential, Unbiased, presets
from ...models import MLP
from ...optim import Adam
from ..balance import GradientNorms
from ..recipe import Recipe


def adam_weighting(potential: AbstractPotential | None = None) -> Recipe:
    """Adam for 300,000 steps with weights for points, terms balanced by their
    gradients, in float32. (Toscano et al. 2025, table 1A)

    The potential is the exponential unless given. Of the exponential a fifth of the
    base is kept, of others nothing. As in the published program, the weights of points
    start at 0.1, a hundredth of their cap, and points are drawn by them as well, so
    that the quadratic one descends the L5 norm; the text has neither. Weights of the
    network start as Glorot and Bengio's: the published ones have the same variance, but
    for the first and the last layer.
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
