"""PINNacle's wave in an uneven medium."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.fft import dctn, idctn
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Initial, Neumann, Problem, Reference

_END = 5.0
_CENTRE, _WIDTH = (-0.5, 0.0), 0.3
_ORDERS = [(m, n) for m in range(5) for n in range(5) if m + n > 0]
_RANDOM = np.random.default_rng(0).standard_normal(len(_ORDERS))
_SIZES = _RANDOM / np.array([m**2 + n**2 for m, n in _ORDERS])
_NUM_TIMES, _NUM_PLACES = 51, 41


class WaveWithVariableSpeed(Problem):
    """`u_tt / c = u_xx + u_yy` on the square from -1 to 1, for `t` from 0 to 5, with
    `du/dn = 0` on all sides, `u_t(0, x, y) = 0` and a Gaussian of width 0.3 about
    `(-0.5, 0)` at the start.

    The square of the speed, `c`, is the exponential of a random function. The function
    is a cosine series whose terms fall like one over the square of the wave number. The
    initial slope at the side `x = -1` is not zero, so a kink runs through the square.
    This is Wave2d-CG of Hao et al. (2023), with a coefficient of our own.
    """

    domain = Box(t=(0, _END), x=(-1, 1), y=(-1, 1))

    @override
    def equations(self, u, t, x, y):
        return {"motion": u.tt / squared_speed(jnp, x, y) - u.xx - u.yy}

    @override
    def conditions(self):
        start = lambda x, y: initial_height(jnp, x, y)
        sides = [Neumann(0.0, on=name) for name in ("x", "y")]
        return [Initial(start), Initial(0.0, order=1), *sides]

    @override
    def reference(self) -> Reference:
        """Return a cosine series of 300 x 300 terms on 51 x 41 x 41 points.

        The error is the difference from 200 x 200 terms.
        """
        values, coarse = (solve_wave(size) for size in (300, 200))
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        axis = np.linspace(-1, 1, _NUM_PLACES)
        axes = {"t": np.linspace(0, _END, _NUM_TIMES), "x": axis, "y": axis}
        return Reference(axes, values, error)


def squared_speed(xp: Any, x: Any, y: Any) -> Any:
    """Evaluate the coefficient, with `numpy` or `jax.numpy` as `xp`."""
    total = 0 * x
    for (m, n), size in zip(_ORDERS, _SIZES.tolist(), strict=True):
        wave_x, wave_y = np.pi * m / 2 * (x + 1), np.pi * n / 2 * (y + 1)
        total = total + size * xp.cos(wave_x) * xp.cos(wave_y)
    return xp.exp(total)


def initial_height(xp: Any, x: Any, y: Any) -> Any:
    """Evaluate the initial values, with `numpy` or `jax.numpy` as `xp`."""
    square = (x - _CENTRE[0]) ** 2 + (y - _CENTRE[1]) ** 2
    return xp.exp(-square / (2 * _WIDTH**2))


def solve_wave(size: int) -> np.ndarray:
    """Return the solution on the grid of the reference.

    Fields are even across all sides, so they are cosine series. A step of time adds the
    terms of second and fourth order: `2 sum_j (step^2 c lap)^j u / (2 j)!`.
    """
    axis = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(axis, axis, indexing="ij")
    wave = np.pi / 2 * np.arange(size)
    laplacian, coefficient = -np.add.outer(wave**2, wave**2), squared_speed(np, x, y)
    fastest = np.sqrt(np.max(coefficient) * np.max(-laplacian))
    interval = _END / (_NUM_TIMES - 1)
    num_steps = int(np.ceil(interval * fastest / 3))  # stable up to the root of 12
    step = interval / num_steps
    points = np.linspace(-1, 1, _NUM_PLACES)
    cosines = np.cos(np.outer(points + 1, wave)) / size
    cosines[:, 0] /= 2

    def push(u):
        """Return `step^2 u_tt`."""
        return step**2 * coefficient * idctn(laplacian * dctn(u))

    def change(u):
        second = push(u)
        return second + push(second) / 12

    now = initial_height(np, x, y)
    before, frames = now + change(now) / 2, [now]
    for _ in range(_NUM_TIMES - 1):
        for _ in range(num_steps):
            now, before = 2 * now - before + change(now), now
        frames.append(now)
    found = np.asarray(dctn(np.stack(frames), axes=(1, 2)))
    return cosines @ found @ cosines.T
