"""Second order, and points that follow the residual."""

from ...adapt import AbstractPotential, Quadratic, Sampling, Smoothing
from ...models import MLP
from ...optim import adam_ssbroyden
from ..recipe import Recipe


def ssbroyden_sampling(potential: AbstractPotential | None = None) -> Recipe:
    """Adam, then self-scaled Broyden, on 20,000 of 200,000 points that are drawn anew
    every 100 steps, in float64. (Toscano et al. 2025, tables 1B and 3)

    The potential is the quadratic one unless given. Memory, rate and mix are those of
    the published program, which made the figures: 0.1, 0.9 and 1; the text has 0.9, 0.1
    and 0.9. Draws are those of any policy here, so that evenly drawn points differ in
    nothing but the tilt.
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
