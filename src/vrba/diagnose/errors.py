"""Errors of a field in several norms."""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..core import InputError

PERCENTILES = (50, 90, 99)


class Errors(eqx.Module):
    """Errors relative to the same norm of the true field.

    `percentiles` are of the pointwise error relative to the largest true value. `h1` is
    `None` without axes, or if no derivative of the true field is known.
    """

    l2: float
    largest: float
    h1: float | None
    percentiles: dict[int, float]


def measure_errors(
    found: Float[np.ndarray, "*grid"],
    true: Float[np.ndarray, "*grid"],
    axes: Sequence[Float[np.ndarray, " _"]] | None = None,
) -> Errors:
    """Return relative L2, L-infinity and H1 errors, with equal weights of the points.

    Points where `true` is NaN are outside the domain and ignored. A value of `found`
    inside that is not finite gives infinite errors. H1 needs the `axes` of the grid;
    derivatives are central differences. If `true` is zero, errors are absolute.
    """
    found, true = np.asarray(found, float), np.asarray(true, float)
    error = found - true
    is_known = np.isfinite(true)
    if not np.any(is_known):
        raise InputError("`true` has no finite value: give at least one.")
    error = np.where(np.isfinite(error) | ~is_known, error, np.inf)
    sizes, values = np.abs(error[is_known]), np.abs(true[is_known])
    top = np.max(values) or 1.0
    ordered = np.sort(sizes)  # interpolation would give NaN for infinite errors
    place = lambda share: int(np.ceil(share / 100 * sizes.size)) - 1
    percentiles = {share: float(ordered[place(share)] / top) for share in PERCENTILES}
    return Errors(
        float(np.linalg.norm(sizes) / (np.linalg.norm(values) or 1.0)),
        float(np.max(sizes) / top),
        None if axes is None else _h1(error, true, axes),
        percentiles,
    )


def _h1(
    error: np.ndarray, true: np.ndarray, axes: Sequence[np.ndarray]
) -> float | None:
    """Return the relative H1 error, where all derivatives of the truth are known."""
    if np.any(np.isinf(error)):
        return float("inf")
    parts = [_with_derivatives(values, axes) for values in (error, true)]
    is_known = np.all(np.isfinite(parts[1]), axis=0)
    if not np.any(is_known):
        return None
    norms = [float(np.linalg.norm(part[:, is_known])) for part in parts]
    return norms[0] / (norms[1] or 1.0)


def _with_derivatives(values: np.ndarray, axes: Sequence[np.ndarray]) -> np.ndarray:
    derivatives = [
        np.gradient(values, axis, axis=k)
        for k, axis in enumerate(axes)
        if axis.size > 1
    ]
    return np.stack([values, *derivatives])
