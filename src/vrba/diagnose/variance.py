"""How far residuals scatter, and what that does to an estimate of their mean."""

import equinox as eqx
import numpy as np

from ._probability import Numbers, as_probability


class ResidualVariance(eqx.Module):
    """The variance of sizes `|r|` and of their squares, under the base and the tilt."""

    of_size: float
    of_square: float
    of_size_tilted: float
    of_square_tilted: float


class EstimatorVariance(eqx.Module):
    """The variance of one term of three estimates of a mean; over `n` points drawn from
    the base each is divided by `n`.

    With `r` the size, `plain` is `Var_p[r]`. `weighted` is `Var_p[r w]`, for `E_q[r]`
    with `w = q / p`: where `w` grows with `r` it is never below `plain`, so the tilt
    does not make the sum less noisy; what falls in training is the scatter of `r`
    itself. `normalised` is `E_p[w**2 (r - E_q[r])**2]`, for the sum divided by the sum
    of its weights.
    """

    plain: float
    weighted: float
    normalised: float


def residual_variance(
    residual: Numbers, tilt: Numbers | None = None, base: Numbers | None = None
) -> ResidualVariance:
    """Variances over points of probability `base`, uniform if not given, and `tilt`,
    the base if not given; either may be any multiple of a probability."""
    size = np.abs(np.asarray(residual, float))
    under = as_probability(base, size.size)
    over = under if tilt is None else as_probability(tilt, size.size)
    found = [_variance(x, p) for p in (under, over) for x in (size, size**2)]
    return ResidualVariance(*found)


def estimator_variance(
    residual: Numbers, tilt: Numbers, base: Numbers | None = None
) -> EstimatorVariance:
    """What the weights `tilt / base` do to the noise of an estimated mean."""
    size = np.abs(np.asarray(residual, float))
    under, over = as_probability(base, size.size), as_probability(tilt, size.size)
    weight = over / np.where(under > 0, under, 1)
    centred = size - np.sum(over * size)
    return EstimatorVariance(
        _variance(size, under),
        _variance(size * weight, under),
        float(np.sum(under * (weight * centred) ** 2)),
    )


def _variance(values: np.ndarray, probability: np.ndarray) -> float:
    mean = np.sum(probability * values)
    return float(np.sum(probability * (values - mean) ** 2))
