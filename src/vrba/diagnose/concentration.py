"""How unevenly weights are spread over points."""

import equinox as eqx
import numpy as np

from ._probability import Numbers, as_probability


class Concentration(eqx.Module):
    """Three measures of how far a tilt `q` is from its base `p` on `N` points.

    `effective_size` is `N / E_p[(q / p)**2]`; `kl` is `E_q[log(q / p)]`; `entropy` is
    `-E_q[log q] / log N`, whatever the base: one if all points have the same mass, zero
    if one point has all.
    """

    effective_size: float
    entropy: float
    kl: float


def concentration(tilt: Numbers, base: Numbers | None = None) -> Concentration:
    """Of a tilt against its base, uniform if not given; either may be any multiple of a
    probability. Points that the base excludes are not counted."""
    under = as_probability(base, len(tilt))
    is_there = under > 0
    under, count = under[is_there], int(np.sum(is_there))
    share = as_probability(np.asarray(tilt)[is_there], count)
    ratio = share / under
    log = lambda values: np.log(np.where(values > 0, values, 1))
    return Concentration(
        float(count / np.sum(share * ratio)),
        float(-np.sum(share * log(share)) / max(np.log(count), 1e-300)),
        float(np.sum(share * log(ratio))),
    )
