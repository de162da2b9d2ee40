"""Published methods as settings of the common interface."""

from ..core import InputError
from .draws import WithoutReplacement
from .potentials import AbstractPotential
from .potentials.exponentials import Exponential
from .potentials.powers import Linear, Power, Quadratic
from .sampling import Sampling
from .smoothing import GrowingCap, Smoothing
from .temperatures import Fixed, LogAnnealing
from .unbiased import Unbiased
from .weighting import Weighting


def rba(eta: int | float = 0.01, gamma: int | float = 0.999) -> Weighting:
    """RBA: `lambda <- gamma lambda + eta r / max r`, the loss `mean((lambda R)**2)`.

    `lambda` starts at a tenth of its bound `eta / (1 - gamma)`: at 1 by default.
    (Anagnostopoulos et al. 2024)
    """
    return Weighting(
        Quadratic(),
        temperature=Fixed(1.0),  # a tilt proportional to r has no scale
        smoothing=Smoothing(memory=gamma, rate=eta, mix=1.0),
    )


def rad(k: int | float = 1.0, c: int | float = 1.0) -> Sampling:
    """RAD: points without repeats from `r**k / E[r**k] + c`. (Wu et al. 2023)"""
    if k < 0 or c < 0:
        raise InputError(f"`rad(k=..., c=...)` must not be negative, got k={k}, c={c}.")
    return Sampling(
        Linear() if k == 0 else Power(k + 1),
        temperature=Fixed(1.0),
        smoothing=Smoothing(memory=0.0, rate=1.0, mix=1 / (1 + c), is_normalised=False),
        draws=WithoutReplacement(),
        floor=0.0,
    )


def vrba_weighting(
    potential: AbstractPotential | None = None,
    *,
    eta: int | float = 0.01,
    first_cap: int | float = 10.0,
    last_cap: int | float = 20.0,
    num_stage: int | float = 50_000,
    start: int | float | None = None,
    mix: int | float = 0.8,
    correction: Unbiased | None = None,
) -> Weighting:
    """The paper's weighting for first-order training: annealed, with a growing cap.

    The default potential is the exponential. Weights start at `start`, by default a
    tenth of the first cap. With a `correction` points are also drawn from the tilt. The
    published program uses `vrba_weighting(start=0.1, correction=Unbiased(0))`.
    (Toscano et al. 2025, algorithm 1)
    """
    cap = GrowingCap(first_cap, last_cap, num_stage, start)
    return Weighting(
        Exponential() if potential is None else potential,
        temperature=LogAnnealing(),
        smoothing=Smoothing(memory=cap, rate=eta, mix=mix),
        correction=correction,
    )


def vrba_sampling(
    potential: AbstractPotential | None = None,
    *,
    memory: int | float = 0.7,
    mix: int | float = 0.8,
    correction: Unbiased | None = None,
) -> Sampling:
    """Sampling for second-order training, where points are resampled occasionally.

    By default the tilt is proportional to the residual.
    """
    return Sampling(
        Quadratic() if potential is None else potential,
        smoothing=Smoothing(
            memory=memory, rate=1 - memory, mix=mix, is_normalised=False
        ),
        correction=correction,
    )


def uniform() -> Sampling:
    """No adaptivity, the baseline: points drawn from the base, weights of one."""
    return Sampling(Linear(), smoothing=Smoothing(0.0, 1.0, 0.0, is_normalised=False))
