"""Measures of residuals and weights: variance, concentration, transport."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError

Numbers = Float[Array | np.ndarray, " points"]


class ResidualVariance(eqx.Module):
    """The variance of `|r|` and of `r**2`, under the base and under the tilt."""

    of_size: float
    of_square: float
    of_size_tilted: float
    of_square_tilted: float


class EstimatorVariance(eqx.Module):
    """The variance of one term of three estimators of a mean.

    For `n` points sampled from the base, the variance of the estimator is this value
    divided by `n`. With the size `r` and `w = q / p`:

    - `plain` is `Var_p[r]`.
    - `weighted` is `Var_p[r w]`, for `E_q[r]`. If `w` grows with `r`, it is never below
      `plain`: the tilt does not reduce the noise of the sum. In training, the variance
      of `r` itself falls.
    - `normalised` is `E_p[w**2 (r - E_q[r])**2]`, for the sum divided by the sum of its
      weights.
    """

    plain: float
    weighted: float
    normalised: float


class Concentration(eqx.Module):
    """Three measures of the distance of a tilt `q` from its base `p` on `N` points.

    `effective_size` is `N / E_p[(q / p)**2]` and `kl` is `E_q[log(q / p)]`. `entropy`
    is `-E_q[log q] / log N`: one for equal masses, zero for a single point.
    """

    effective_size: float
    entropy: float
    kl: float


def residual_variance(
    residual: Numbers, tilt: Numbers | None = None, base: Numbers | None = None
) -> ResidualVariance:
    """Return variances under `base` (default uniform) and `tilt` (default the base).

    Both need not be normalised.
    """
    size = np.abs(np.asarray(residual, float))
    under = normalise(base, size.size)
    over = under if tilt is None else normalise(tilt, size.size)
    found = [_variance(x, p) for p in (under, over) for x in (size, size**2)]
    return ResidualVariance(*found)


def estimator_variance(
    residual: Numbers, tilt: Numbers, base: Numbers | None = None
) -> EstimatorVariance:
    """Return the variances of plain and importance-weighted estimators of the mean."""
    size = np.abs(np.asarray(residual, float))
    under, over = normalise(base, size.size), normalise(tilt, size.size)
    weight = over / np.where(under > 0, under, 1)
    centred = size - np.sum(over * size)
    return EstimatorVariance(
        _variance(size, under),
        _variance(size * weight, under),
        float(np.sum(under * (weight * centred) ** 2)),
    )


def measure_concentration(tilt: Numbers, base: Numbers | None = None) -> Concentration:
    """Compare a tilt with its base (default uniform).

    Both need not be normalised. Points of zero base probability are ignored.
    """
    under = normalise(base, len(tilt))
    is_possible = under > 0
    under, count = under[is_possible], int(np.sum(is_possible))
    share = normalise(np.asarray(tilt)[is_possible], count)
    ratio = share / under
    log = lambda values: np.log(np.where(values > 0, values, 1))
    return Concentration(
        float(count / np.sum(share * ratio)),
        float(-np.sum(share * log(share)) / max(np.log(count), 1e-300)),
        float(np.sum(share * log(ratio))),
    )


def wasserstein_distance(
    points: Float[Array | np.ndarray, "points dim"],
    tilt: Numbers,
    base: Numbers | None = None,
) -> Float[np.ndarray, " dim"]:
    """Return the first Wasserstein distance of the marginals, for each coordinate.

    It is the mean distance, in units of the coordinate, by which mass moves from the
    base to the tilt: `integral |F_q - F_p| dx`.
    """
    points = np.asarray(points, float)
    both = [normalise(mass, len(points)) for mass in (tilt, base)]
    moved = both[0] - both[1]
    order = np.argsort(points, axis=0)
    places = np.take_along_axis(points, order, axis=0)
    surplus = np.cumsum(moved[order], axis=0)
    return np.sum(np.abs(surplus[:-1]) * np.diff(places, axis=0), axis=0)


def normalise(mass: Numbers | None, count: int) -> Float[np.ndarray, " points"]:
    """Return masses scaled to the sum one; uniform if `mass` is `None`."""
    found = np.ones(count) if mass is None else np.asarray(mass, float)
    if found.shape != (count,):
        raise InputError(
            f"`tilt` and `base` must have one number for each of {count} points, got "
            f"shape {found.shape}."
        )
    total = np.sum(found)
    if not (np.all(found >= 0) and 0 < total < np.inf):
        raise InputError(
            "`tilt` and `base` must be finite, not negative and not all zero, got a "
            f"sum of {total:g} and a minimum of {np.min(found):g}."
        )
    return found / total


def _variance(values: np.ndarray, probability: np.ndarray) -> float:
    mean = np.sum(probability * values)
    return float(np.sum(probability * (values - mean) ** 2))
