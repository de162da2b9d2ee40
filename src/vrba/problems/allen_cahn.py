"""Allen-Cahn: two phases separate, from initial data with a kink."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from ..core import InputError, check_count, check_positive
from ..domains import Box
from ._base import Problem
from ._spectral import (
    cosine_coefficients,
    cosine_values,
    etdrk4,
    relative_difference,
)
from .conditions import Ansatz, Data, Initial, Penalty, Periodic
from .reference import Reference

_DIFFUSION = 1e-4
# The slope of the reaction `5 u - 5 u^3` at -1, with its sign changed.
_DECAY = 10.0
_NUM_MODES = 8192

Values = Float[Array, "..."]


class AllenCahn(Problem):
    """`u_t = 1e-4 u_xx + 5 u - 5 u^3`, `u(0, x) = x^2 cos(pi x)`, periodic in `x`.

    Two fronts between -1 and 1 steepen towards a thickness of 0.02 and then hardly
    move. The initial data, continued periodically, have a kink at `x = -1` and 1, which
    diffusion rounds at once: the solution is not smooth at `t = 0`. In the ansatz
    `known_part(t, x) + t N` the known part carries the rounding. With the initial data
    alone the kink would stay for all times, and the ansatz would be wrong.

    `is_soft` replaces the ansatz by a term of the loss for the initial values, with
    weight `soft_weight`: the form in which the problem is usually posed. The network
    sees `modes` frequencies of `x`.

    `num_initial` holds the soft initial values on so many evenly spaced points that
    stay, as is often done. Between two of them a kink is not seen, and what is solved
    is a smoother problem: its reference starts from the trigonometric polynomial
    through them, and with 512 points is more than 1e-5 from the solution with a kink.

    Good values: `is_soft = False`. As published by Toscano et al. (2025) it is soft,
    with `num_initial = 512`, with weight 10 and one frequency for second order, and
    with a weight that starts at 100 and ten frequencies for Adam.
    """

    is_soft: bool = False
    soft_weight: float = 10.0
    modes: int = 1
    num_initial: int | None = None
    domain = Box(t=(0, 1), x=(-1, 1))

    def __check_init__(self):
        """A weight is positive, and there is a frequency."""
        check_positive(soft_weight=self.soft_weight)
        check_count(modes=self.modes)
        if self.num_initial is not None:
            _check_num_initial(self.num_initial, self.is_soft)

    def equations(self, u, t, x):
        """The balance of diffusion and reaction."""
        return {"reaction": u.t - _DIFFUSION * u.xx - 5 * u + 5 * u**3}

    def conditions(self):
        """Periodicity, and the initial values exactly or in the loss."""
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

    def reference(self) -> Reference:
        """A spectral solution with 8,192 modes and 1,000 steps on 101 x 513 points.

        Its error is the distance to one with half the modes and half the steps, which
        is that solution's own error, or a little more.
        """
        values = _solve(_NUM_MODES, 1000, self.num_initial)
        coarse = _solve(_NUM_MODES // 2, 500, self.num_initial)
        error = relative_difference(coarse, values)
        t, x = np.linspace(0, 1, 101), np.linspace(-1, 1, 513)
        return Reference({"t": t, "x": x}, values, error)


def _initial(x):
    return x**2 * jnp.cos(jnp.pi * x)


def _ansatz(t, x, N):
    return known_part(t, x) + t * N


def _initial_values(x: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """The same in double precision, whatever the program computes in."""
    return x**2 * np.cos(np.pi * x)


def _check_num_initial(num_initial: int, is_soft: bool) -> None:
    """An even number that the coarser reference resolves, of a soft term."""
    check_count(num_initial=num_initial)
    if not is_soft:
        raise InputError(
            f"`AllenCahn(num_initial={num_initial})` holds initial values in the loss, "
            "but the ansatz has them exactly: give `is_soft=True`, too."
        )
    most = _NUM_MODES // 2
    if not 8 <= num_initial <= most or num_initial % 2:
        raise InputError(
            f"`AllenCahn(num_initial=...)` must be an even number from 8 to {most}, "
            f"got {num_initial}."
        )


@functools.cache
def _solve(
    num_modes: int, num_steps: int, num_initial: int | None = None
) -> Float[np.ndarray, "101 513"]:
    """ETDRK4 for the cosine series: the solution is even. It starts from the kink, or
    from the trigonometric polynomial through so many of its values. It is computed once
    in a process, and cannot be written to.

    Two choices keep the kink from spoiling the accuracy: the initial series is exact,
    not sampled, and the reaction is linearised about -1, its value at the kink, so that
    the nonlinear part has no slope there and does not see the kink.
    """
    n = np.arange(num_modes // 2 + 1)
    linear = -_DIFFUSION * (np.pi * n) ** 2 - _DECAY

    def nonlinear(coefficients):
        u = cosine_values(coefficients)
        return cosine_coefficients(u * (5 + _DECAY - 5 * u * u))

    start = _initial_series(num_modes // 2)
    if num_initial is not None:
        few = _initial_values(np.linspace(0, 1, num_initial // 2 + 1))
        start = np.pad(cosine_coefficients(few), (0, (num_modes - num_initial) // 2))
    frames = etdrk4(
        linear, nonlinear, start, duration=1.0, num_steps=num_steps, num_frames=101
    )
    half = cosine_values(frames)[:, :: num_modes // 512]
    if num_initial is None:
        half[0] = _initial_values(np.linspace(0, 1, 257))
    whole = np.concatenate([half[:, :0:-1], half], axis=1)
    whole.setflags(write=False)
    return whole


def _initial_series(last: int) -> Float[np.ndarray, " modes"]:
    """The coefficients of `x^2 cos(pi x)` up to `cos(last pi x)`, by two integrations
    by parts."""
    n = np.arange(2, last + 1)
    rest = (-1.0) ** (n + 1) * (2 / (n + 1) ** 2 + 2 / (n - 1) ** 2) / np.pi**2
    return np.concatenate([[-2 / np.pi**2, 1 / 3 + 1 / (2 * np.pi**2)], rest])


def known_part(t: Values, x: Values) -> Values:
    """The initial data, and how diffusion rounds their kink and the reaction, which
    decays like `exp(-10 t)` towards -1, then replaces its layer by a smooth one.

    The slope at `x = -1` and 1 is zero for all `t > 0`.
    """
    fading = jnp.exp(-_DECAY * t)
    smooth = 4 / math.pi * jnp.cos(math.pi / 2 * x)
    return _initial(x) + fading * layer(t, 1 - jnp.abs(x)) - (1 - fading) * smooth


@jax.custom_jvp
def layer(t: Values, y: Values) -> Values:
    """How diffusion rounds the kink, at a distance `y` from it: zero at `t = 0`, slope
    -2 at `y = 0`, which cancels that of the initial data, and `H_t = k H_yy`.

    `H = 4 sqrt(k t) [exp(-z^2) / sqrt(pi) - z erfc(z)]`, `z = y / (2 sqrt(k t))`.
    """
    z = y / (2 * jnp.sqrt(_DIFFUSION * _positive(t)))
    height = 4 * jnp.sqrt(_DIFFUSION * t)
    return height * (jnp.exp(-z * z) / math.sqrt(math.pi) - z * erfc(z))


@layer.defjvp
def _layer_jvp(primals, tangents):
    (t, y), (dt, dy) = primals, tangents
    return layer(t, y), _rate(t, y) * dt - _steep(t, y) * dy


@jax.custom_jvp
def _steep(t: Values, y: Values) -> Values:
    """`-H_y`. Written out, as are the other derivatives: differentiating `layer` would
    give NaN at `t = 0`."""
    return 2 * erfc(y / (2 * jnp.sqrt(_DIFFUSION * _positive(t))))


@_steep.defjvp
def _steep_jvp(primals, tangents):
    (t, y), (dt, dy) = primals, tangents
    rate = _rate(t, y)
    by_t = rate * y / (2 * _DIFFUSION * _positive(t))
    return _steep(t, y), by_t * dt - rate / _DIFFUSION * dy


def _rate(t: Values, y: Values) -> Values:
    """`H_t`, without bound towards the kink itself at `t = 0`, in truth."""
    time = _positive(t)
    size = 2 * math.sqrt(_DIFFUSION / math.pi) / jnp.sqrt(time)
    return size * jnp.exp(-(y**2) / (4 * _DIFFUSION * time))


def _positive(t: Values) -> Values:
    """A time that may divide: at `t = 0` it leaves the limit of everything except
    where that is infinite."""
    return jnp.maximum(t, jnp.finfo(t.dtype).eps)
