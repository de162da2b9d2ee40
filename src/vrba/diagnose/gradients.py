"""Measures of gradients: signal-to-noise ratio, alignment, complexity."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError


class SignalToNoise(eqx.Module):
    """The signal-to-noise ratio of gradients over `b` partitions of the points.

    `ratio = |g| / s`, with the mean `g` of the partition gradients and the sum `s**2`
    of their variances over parameters. Pure noise gives `floor = 1 / sqrt(b)`, so a
    ratio near it is not significant. `debiased = (|g|**2 - s**2 / b) / s**2` estimates
    the squared ratio without that bias, and may be negative. The errors are jackknife
    standard errors; near pure noise that of the square is up to `sqrt(2)` too large.
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
    """Return the ratio from partition gradients, one per row, at least three.

    With `has_unit_length` each row is first scaled to unit length: the ratio of Toscano
    et al. (2025), which depends on directions only. A row of zeros stays zero.
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
    rows = rows / (scale if scale > 0 else 1)  # avoid underflow of squares
    products = rows @ rows.T
    total, trace = np.sum(products), np.trace(products)
    own, shared = np.diagonal(products), np.sum(products, axis=1)
    ratio, debiased = _ratios(total, trace, num_parts)
    # The jackknife leaves out one row; its sums follow from the products.
    each = _ratios(total - 2 * shared + own, trace - own, num_parts - 1)
    errors = [float(np.sqrt((num_parts - 1) * np.var(values))) for values in each]
    both = (float(ratio), errors[0], float(debiased), errors[1])
    return SignalToNoise(*both, num_parts**-0.5, num_parts)


def cosine_similarity(
    gradients: Float[Array | np.ndarray, "terms params"],
) -> Float[np.ndarray, "terms terms"]:
    """Return the cosine of the angle between each two gradients; 0 for a zero gradient.

    Negative values mean that two terms of the loss are in conflict.
    """
    rows = np.asarray(gradients, float)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1)
    return np.clip(rows @ rows.T, -1, 1)


def geometric_complexity(
    gradients: Float[Array | np.ndarray, "points fields dim"],
) -> float:
    """Return the Dirichlet energy per volume of a function (Dherin et al. 2022).

    It is the mean over points of the squared norm of its derivatives with respect to
    the coordinates, summed over fields.
    """
    squares = np.square(np.asarray(gradients, float))
    return float(np.mean(np.sum(squares, axis=(1, 2))))


def _ratios(total: Any, trace: Any, num_parts: int) -> tuple[Any, Any]:
    """Return the ratio and its debiased square, from sums of inner products."""
    signal = np.maximum(total, 0) / num_parts**2
    noise = (trace - num_parts * signal) / (num_parts - 1)
    limits = np.finfo(float)
    noise = np.maximum(noise, limits.eps * signal + limits.tiny)
    return np.sqrt(signal / noise), (signal - noise / num_parts) / noise
