"""Allen-Cahn: phase separation from initial values with a kink."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError, check_count, check_positive
from ..domains import Box
from ._base import Problem
from ._spectral import (
    cosine_coefficients,
    cosine_values,
    extrapolate,
    relative_difference,
)
from .conditions import Ansatz, Data, Initial, Penalty, Periodic
from .reference import Reference

_DIFFUSION = 1e-4
# Minus the derivative of the reaction `5 u - 5 u^3` at -1.
_DECAY = 10.0
_NUM_MODES = 8192
_NUM_COARSE_MODES = 4096

Values = Float[Array, "..."]


class AllenCahn(Problem):
    """`u_t = 1e-4 u_xx + 5 u - 5 u^3`, `u(0, x) = x^2 cos(pi x)`, periodic in `x`.

    Two fronts between -1 and 1 steepen to a thickness of 0.02 and then hardly move. The
    periodic continuation of the initial values has a kink at `x = -1` and 1, so the
    solution is not smooth at `t = 0`; diffusion smooths the kink at once. In the ansatz
    `known_part(t, x) + t N` the known part describes this smoothing. An ansatz from the
    initial values alone would keep the kink at all times and be wrong.

    `is_soft` replaces the ansatz by a loss term for the initial values, with weight
    `soft_weight`. This is the usual form. The network receives `modes` frequencies of
    `x`.

    `num_initial` fixes the points of the soft initial condition: so many, equally
    spaced. They do not resolve the kink, so the problem becomes smoother. Its reference
    starts from the trigonometric polynomial through these points; with 512 points it
    differs by more than 1e-5 from the solution with a kink.

    Good values: `is_soft = False`. Toscano et al. (2025) use `is_soft = True` and
    `num_initial = 512`. For second-order optimizers they use weight 10 and one
    frequency; for Adam, a weight that starts at 100 and ten frequencies.
    """

    is_soft: bool = False
    soft_weight: float = 10.0
    modes: int = 1
    num_initial: int | None = None
    domain = Box(t=(0, 1), x=(-1, 1))

    def __check_init__(self):
        check_positive(soft_weight=self.soft_weight)
        check_count(modes=self.modes)
        if self.num_initial is not None:
            _check_num_initial(self.num_initial, self.is_soft)

    @override
    def equations(self, u, t, x):
        return {"reaction": u.t - _DIFFUSION * u.xx - 5 * u + 5 * u**3}

    @override
    def conditions(self):
        """Return periodicity, and the initial values as an ansatz or a loss term."""
        periodic = Periodic("x", modes=self.modes)
        if not self.is_soft:
            return [periodic, Ansatz(_ansatz)]
        if self.num_initial is None:
            return [
                periodic,
                Initial(_initial, penalty=Penalty(weight=self.soft_weight)),
            ]
        x = np.linspace(-1, 1, self.num_initial + 1)[:-1]
        points = np.stack([np.zeros_like(x), x], axis=1)
        count = self.num_initial
        penalty = Penalty("initial", self.soft_weight, count, holds_out=False)
        return [periodic, Data(points, _initial_values(x), penalty=penalty)]

    @override
    def reference(self) -> Reference:
        """Return a spectral solution of 8,192 modes and 4,000 steps, on 101 x 513.

        The solution is extrapolated from 4,000 and 2,000 steps. The error is the
        difference from the same with 4,096 modes and 2,000 steps, an upper estimate.
        """

        def solve(num_modes, num_steps):
            solve_fn = lambda count: _solve(num_modes, count, self.num_initial)
            return extrapolate(solve_fn, num_steps, order=2)

        values = solve(_NUM_MODES, 4000)
        coarse = solve(_NUM_COARSE_MODES, 2000)
        error = relative_difference(coarse, values)
        t, x = np.linspace(0, 1, 101), np.linspace(-1, 1, 513)
        return Reference({"t": t, "x": x}, values, error)


def _initial(x):
    return x**2 * jnp.cos(jnp.pi * x)


def _ansatz(t, x, N):
    return known_part(t, x) + t * N


def _initial_values(x: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """Return the initial values in float64, whatever dtype JAX uses."""
    return x**2 * np.cos(np.pi * x)


def _check_num_initial(num_initial: int, is_soft: bool) -> None:
    """Raise unless the reference can resolve the initial points of a soft term."""
    check_count(num_initial=num_initial)
    if not is_soft:
        raise InputError(
            f"`AllenCahn(num_initial={num_initial})` sets points of a soft initial "
            "condition, but the ansatz is a hard one. Give `is_soft=True`, too."
        )
    most = _NUM_COARSE_MODES
    if not 8 <= num_initial <= most or num_initial % 2:
        raise InputError(
            f"`AllenCahn(num_initial=...)` must be an even number from 8 to {most}, "
            f"got {num_initial}."
        )


@functools.cache
def _solve(
    num_modes: int, num_steps: int, num_initial: int | None = None
) -> Float[np.ndarray, "101 513"]:
    """Solve by Strang splitting for the cosine series, as the solution is even.

    The initial values are exact or, with `num_initial`, the trigonometric polynomial
    through so many of them. The initial series is exact, not sampled. Diffusion and
    reaction are solved exactly in turn, so neither the kink nor the high modes limit
    the step. The result is cached and read-only.
    """
    n = np.arange(num_modes // 2 + 1)
    steps_per_frame = num_steps // 100
    step = 0.01 / steps_per_frame
    whole, half = (
        np.expm1(-_DIFFUSION * (np.pi * n) ** 2 * s) for s in (step, step / 2)
    )
    coefficients = _initial_series(num_modes // 2)
    if num_initial is not None:
        samples = _initial_values(np.linspace(0, 1, num_initial // 2 + 1))
        padding = (0, (num_modes - num_initial) // 2)
        coefficients = np.pad(cosine_coefficients(samples), padding)
    frames = [coefficients]
    for _ in range(100):
        coefficients = coefficients + half * coefficients
        for diffusion in [whole] * (steps_per_frame - 1) + [half]:
            change = _reaction(cosine_values(coefficients), step)
            coefficients = coefficients + cosine_coefficients(change)
            coefficients = coefficients + diffusion * coefficients
        frames.append(coefficients)
    right = cosine_values(np.stack(frames))[:, :: num_modes // 512]
    if num_initial is None:
        right[0] = _initial_values(np.linspace(0, 1, 257))
    values = np.concatenate([right[:, :0:-1], right], axis=1)
    values.setflags(write=False)
    return values


def _reaction(
    u: Float[np.ndarray, " points"], step: float
) -> Float[np.ndarray, " points"]:
    """Return the exact change of `u' = 5 u - 5 u^3` in one step.

    The new value is `u / sqrt(u^2 + (1 - u^2) exp(-10 step))`. A difference of the two
    values would lose digits.
    """
    gap = -math.expm1(-_DECAY * step) * (1 - u * u)
    root = np.sqrt(1 - gap)
    return u * gap / (root + root * root)


def _initial_series(last: int) -> Float[np.ndarray, " modes"]:
    """Return the cosine coefficients of `x^2 cos(pi x)` up to `cos(last pi x)`.

    The formula follows from two integrations by parts.
    """
    n = np.arange(2, last + 1)
    rest = (-1.0) ** (n + 1) * (2 / (n + 1) ** 2 + 2 / (n - 1) ** 2) / np.pi**2
    return np.concatenate([[-2 / np.pi**2, 1 / 3 + 1 / (2 * np.pi**2)], rest])


def known_part(t: Values, x: Values) -> Values:
    """Return the initial values with a kink that diffusion smooths.

    The smoothing layer decays like `exp(-10 t)`, at the rate of the reaction near -1,
    and is replaced by a smooth function. The x-derivative at `x = -1` and 1 is zero for
    all `t > 0`.
    """
    fading = jnp.exp(-_DECAY * t)
    smooth = 4 / math.pi * jnp.cos(math.pi / 2 * x)
    return _initial(x) + fading * layer(t, 1 - jnp.abs(x)) - (1 - fading) * smooth


@jax.custom_jvp
def layer(t: Values, y: Values) -> Values:
    """Return the smoothing of the kink by diffusion, at the distance `y` from it.

    `H` solves `H_t = k H_yy` and is zero at `t = 0`. Its derivative is -2 at `y = 0`
    and cancels that of the initial values.

    `H = 4 sqrt(k t) [exp(-z^2) / sqrt(pi) - z erfc(z)]`, `z = y / (2 sqrt(k t))`.
    """
    z = y / (2 * jnp.sqrt(_DIFFUSION * _positive(t)))
    height = 4 * jnp.sqrt(_DIFFUSION * t)
    return height * (jnp.exp(-z * z) / math.sqrt(math.pi) - z * erfc(z))


@layer.defjvp
def _layer_jvp(primals, tangents):
    (t, y), (dt, dy) = primals, tangents
    return layer(t, y), _rate(t, y) * dt - _minus_slope(t, y) * dy


@jax.custom_jvp
def _minus_slope(t: Values, y: Values) -> Values:
    """Return `-H_y`, in closed form: automatic derivatives are NaN at `t = 0`."""
    return 2 * erfc(y / (2 * jnp.sqrt(_DIFFUSION * _positive(t))))


@_minus_slope.defjvp
def _minus_slope_jvp(primals, tangents):
    (t, y), (dt, dy) = primals, tangents
    rate = _rate(t, y)
    by_t = rate * y / (2 * _DIFFUSION * _positive(t))
    return _minus_slope(t, y), by_t * dt - rate / _DIFFUSION * dy


def _rate(t: Values, y: Values) -> Values:
    """Return `H_t`, which is unbounded at the kink as `t` tends to zero."""
    time = _positive(t)
    size = 2 * math.sqrt(_DIFFUSION / math.pi) / jnp.sqrt(time)
    return size * jnp.exp(-(y**2) / (4 * _DIFFUSION * time))


def _positive(t: Values) -> Values:
    """Return a time to divide by; at `t = 0` all finite limits stay correct."""
    return jnp.maximum(t, jnp.finfo(t.dtype).eps)
