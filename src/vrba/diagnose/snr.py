"""How much of the gradient is signal, and how much is the noise of its points."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError


class SignalToNoise(eqx.Module):
    """The gradient's signal against its noise over `b` partitions of the points.

    With `g` the mean of the partitions' gradients and `s**2` the sum of their variances
    over parameters, `ratio = |g| / s`. Pure noise gives `floor = 1 / sqrt(b)`, so the
    ratio says little near it; `debiased = (|g|**2 - s**2 / b) / s**2` estimates the
    square of the true ratio without that bias, and may be negative. Errors are one
    standard error, by the jackknife over partitions; near pure noise that of the square
    is too large, by up to `sqrt(2)`.
    """

    ratio: float
    ratio_error: float
    debiased: float
    debiased_error: float
    floor: float
    num_parts: int


def signal_to_noise(
    gradients: Float[Array | np.ndarray, "parts params"],
    *,
    has_unit_length: bool = False,
) -> SignalToNoise:
    """The ratio for the gradient of each partition, one row each, at least three.

    With `has_unit_length` each row is first scaled to unit length: the ratio of Toscano
    et al. (2025), which sees directions only. A row of zeros stays as it is.
    """
    num_parts = gradients.shape[0]
    if num_parts < 3:
        raise InputError(
            f"`gradients` must have at least three rows, got {num_parts}: split the "
            "points into more partitions."
        )
    rows = np.asarray(gradients, float)
    if has_unit_length:
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(length > 0, length, 1)
    scale = np.max(np.abs(rows))
    rows = rows / (scale if scale > 0 else 1)  # squares of tiny gradients vanish
    products = rows @ rows.T
    total, trace = np.sum(products), np.trace(products)
    own, shared = np.diagonal(products), np.sum(products, axis=1)
    ratio, debiased = _ratios(total, trace, num_parts)
    # Without one row: everything follows from the products.
    each = _ratios(total - 2 * shared + own, trace - own, num_parts - 1)
    errors = [float(np.sqrt((num_parts - 1) * np.var(values))) for values in each]
    both = (float(ratio), errors[0], float(debiased), errors[1])
    return SignalToNoise(*both, num_parts**-0.5, num_parts)


def _ratios(total: Any, trace: Any, num_parts: int) -> tuple[Any, Any]:
    """The ratio and its debiased square, from sums of inner products."""
    signal = np.maximum(total, 0) / num_parts**2
    noise = (trace - num_parts * signal) / (num_parts - 1)
    limits = np.finfo(float)
    noise = np.maximum(noise, limits.eps * signal + limits.tiny)
    return np.sqrt(signal / noise), (signal - noise / num_parts) / noise
