"""Spectral numerics for references, on the host and in float64."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Inexact
from scipy import fft

from ..core import InputError

Coefficients = Inexact[np.ndarray, " modes"]


def etdrk4(
    linear: Coefficients,
    nonlinear_fn: Callable[[Any], Any],
    start: Coefficients,
    *,
    duration: float,
    num_steps: int,
    num_frames: int,
) -> Inexact[np.ndarray, "frames modes"]:
    """Solve `c' = linear c + nonlinear_fn(c)`; return equally spaced frames.

    The fourth-order exponential method of Cox and Matthews (2002). The stiff part,
    `linear`, is integrated exactly and does not limit the step. The frames include the
    first and the last time.
    """
    steps_per_frame, rest = divmod(num_steps, num_frames - 1)
    if rest or not steps_per_frame:
        raise InputError(
            f"`num_steps` must be a multiple of {num_frames - 1}, the number of frames "
            f"minus one, got {num_steps}."
        )
    weights = _weights(linear * (duration / num_steps), duration / num_steps)
    coefficients, frames = start, [start]
    for step in range(num_steps):
        coefficients = _advance(coefficients, nonlinear_fn, weights)
        if (step + 1) % steps_per_frame == 0:
            frames.append(coefficients)
    return np.stack(frames)


class _Weights(NamedTuple):
    """Factors of the old value and of the nonlinear terms in one step.

    `change` is `exp(z) - 1`: the step adds a change to the old value, so the rounding
    of the factors does not accumulate over the steps.
    """

    change: np.ndarray
    half: np.ndarray
    inner: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray


def _weights(z: np.ndarray, step: float, num_nodes: int = 32) -> _Weights:
    """Evaluate the ETDRK4 factors by contour means (Kassam and Trefethen 2005).

    The closed formulas lose digits to cancellation for small `z`.
    """
    circle = np.exp(2j * np.pi * (np.arange(num_nodes) + 0.5) / num_nodes)
    r = z[:, None] + circle
    e = np.exp(r)

    def mean(values):
        found = step * np.mean(values, axis=1)
        return found if np.iscomplexobj(z) else found.real

    return _Weights(
        change=np.expm1(z),
        half=np.exp(z / 2),
        inner=mean((np.exp(r / 2) - 1) / r),
        first=mean((-4 - r + e * (4 - 3 * r + r**2)) / r**3),
        middle=mean(2 * (2 + r + e * (r - 2)) / r**3),
        last=mean((-4 - 3 * r - r**2 + e * (4 - r)) / r**3),
    )


def _advance(c: Any, nonlinear_fn: Callable[[Any], Any], weights: _Weights) -> Any:
    """Return the coefficients after one step."""
    half = weights.half * c
    at_start = nonlinear_fn(c)
    a = half + weights.inner * at_start
    at_a = nonlinear_fn(a)
    at_b = nonlinear_fn(half + weights.inner * at_a)
    at_end = nonlinear_fn(weights.half * a + weights.inner * (2 * at_b - at_start))
    parts = weights.first * at_start + weights.middle * (at_a + at_b)
    return c + (weights.change * c + parts + weights.last * at_end)


def extrapolate(
    solve_fn: Callable[[int], Float[np.ndarray, "..."]], num_steps: int, order: int
) -> Float[np.ndarray, "..."]:
    """Extrapolate a method of an order from `num_steps` steps and half as many.

    Richardson's formula removes the leading error.
    """
    fine, coarse = solve_fn(num_steps), solve_fn(num_steps // 2)
    return fine + (fine - coarse) / (2**order - 1)


def cosine_values(
    coefficients: Float[np.ndarray, "... modes"],
) -> Float[np.ndarray, "... modes"]:
    """Evaluate the sum of `c_n cos(n pi x)` on as many points of [0, 1], with ends."""
    scaled = coefficients / 2
    scaled[..., 0] *= 2
    scaled[..., -1] *= 2
    return np.asarray(fft.dct(scaled, type=1))


def cosine_coefficients(
    values: Float[np.ndarray, "... modes"],
) -> Float[np.ndarray, "... modes"]:
    """Return the coefficients of a cosine series; the inverse of `cosine_values`."""
    found = np.asarray(fft.dct(values, type=1)) / (values.shape[-1] - 1)
    found[..., 0] /= 2
    found[..., -1] /= 2
    return found


def relative_difference(one: Any, other: Any) -> float:
    """Return the relative L2 distance of `one` from `other`."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))
