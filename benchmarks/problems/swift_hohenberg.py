"""The Swift-Hohenberg equation: a pattern grows out of a small disturbance."""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from typing_extensions import override

from vrba.core import check_between
from vrba.domains import Box
from vrba.problems import Initial, Periodic, Problem, Reference

_LENGTH = 8 * np.pi
_END = 10.0
_NUM_FRAMES = 101


class SwiftHohenberg(Problem):
    """`u_t = growth u - (1 + d_xx)^2 u - u^3`, periodic in `x` from 0 to `8 pi`, for
    `t` from 0 to 10, `u(0, x) = (cos(x) + sin(x / 2)) / 5`.

    The equation of Swift and Hohenberg (1977), of fourth order. The wave `cos(x)` grows
    like `e^(growth t)` until the cubic term stops it. Other waves decay, except for
    those that it creates.

    Good values: `growth = 0.5`.
    """

    growth: float = 0.5
    domain = Box(t=(0, _END), x=(0, _LENGTH))

    def __check_init__(self):
        check_between(growth=(self.growth, 0.0, 5.0))

    @override
    def equations(self, u, t, x):
        spread = u + 2 * u.xx + u.xxxx
        return {"growth": u.t - self.growth * u + spread + u**3}

    @override
    def conditions(self):
        start = lambda x: (jnp.cos(x) + jnp.sin(x / 2)) / 5
        return [Periodic("x"), Initial(start)]

    @override
    def reference(self) -> Reference:
        """Return a Fourier solution of 128 modes on 101 x 257 points.

        The tolerance in time is 1e-12. The error is the difference from 96 modes and
        the tolerance 1e-11.
        """
        values = solve_pattern(self.growth, 128, 1e-12)
        coarse = solve_pattern(self.growth, 96, 1e-11)
        error = float(np.linalg.norm(coarse - values) / np.linalg.norm(values))
        axes = {"t": np.linspace(0, _END, _NUM_FRAMES)}
        axes["x"] = np.linspace(0, _LENGTH, 257)
        return Reference(axes, values, error)


def solve_pattern(growth: float, num_modes: int, tolerance: float) -> np.ndarray:
    """Integrate the Fourier coefficients; return values on the reference's grid.

    Only a quarter of the waves is kept, so that products of three have no aliases.
    """
    x = np.linspace(0, _LENGTH, num_modes, endpoint=False)
    wave = np.arange(num_modes // 4)
    rates = growth - (1 - (2 * np.pi / _LENGTH * wave) ** 2) ** 2

    def slope(t, state):
        cube = np.fft.irfft(state, num_modes) ** 3
        return rates * state - np.fft.rfft(cube)[: len(wave)]

    start = np.fft.rfft((np.cos(x) + np.sin(x / 2)) / 5)[: len(wave)]
    times = np.linspace(0, _END, _NUM_FRAMES)
    found = solve_ivp(
        slope,
        (0, _END),
        start,
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=tolerance * num_modes,
    )
    values = np.fft.irfft(found.y.T, 256) * (256 / num_modes)
    return np.concatenate([values, values[:, :1]], axis=1)
