"""Kuramoto-Sivashinsky: growth of long waves, damping of short ones."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from typing_extensions import override

from ..core import check_between
from ..domains import Box
from ._base import Problem
from ._spectral import etdrk4, extrapolate, relative_difference
from .conditions import Ansatz, Periodic
from .reference import Reference

_STEEPENING = 100 / 16
_GROWTH = 100 / 16**2
_DAMPING = 100 / 16**4
# The largest growth rate, and the time when the initial wave of slope 2 would break.
_FASTEST = _GROWTH**2 / (4 * _DAMPING)
_BREAKING = 1 / (2 * _STEEPENING)


class KuramotoSivashinsky(Problem):
    """`u_t + 100/16 u u_x + 100/16^2 u_xx + 100/16^4 u_xxxx = 0`,
    `u(0, x) = cos(x) (1 + sin(x))`, periodic in `x`, up to `t = end`.

    The initial wave steepens into a front at `t = 0.08`. Then ripples grow, the fastest
    like `exp(25 t)`, and reach the height of the front at `t = 0.4`. Later the solution
    is chaotic. Early errors grow at the same rate, so the equation is multiplied by
    `exp(-12.5 t)`. The initial condition and the periodicity are hard constraints.

    Good values: `end = 0.2`. With 0.4, the usual end, a uniform residual of a given
    size causes an error about thirty times as large.
    """

    end: float = 0.2

    def __check_init__(self):
        check_between(end=(self.end, 0.0, 0.5))

    @property
    @override
    def domain(self) -> Box:
        """Times up to `end`, and one period."""
        return Box(t=(0, self.end), x=(0, 2 * np.pi))

    @override
    def equations(self, u, t, x):
        steepening = _STEEPENING * u * u.x
        balance = u.t + steepening + _GROWTH * u.xx + _DAMPING * u.xxxx
        return {"front": jnp.exp(-_FASTEST / 2 * t) * balance}

    @override
    def conditions(self):

        def solution(t, x, N):
            initial = jnp.cos(x) * (1 + jnp.sin(x))
            return initial + t / (t + _BREAKING) * N

        return [Periodic("x"), Ansatz(solution)]

    @override
    def reference(self) -> Reference:
        """Return a spectral solution of 640 modes and 12,000 steps, on 101 x 513.

        The solution is extrapolated from 12,000 and 6,000 steps. The error is the
        difference from the same with 512 modes and 8,000 steps, an upper estimate.
        """
        values = extrapolate(lambda n: _solve(self.end, 640, n), 12_000, order=4)
        coarse = extrapolate(lambda n: _solve(self.end, 512, n), 8000, order=4)
        t, x = np.linspace(0, self.end, 101), np.linspace(0, 2 * np.pi, 513)
        error = relative_difference(coarse, values)
        return Reference({"t": t, "x": x}, values, error)


def _solve(end: float, num_modes: int, num_steps: int) -> Float[np.ndarray, "101 513"]:
    """Solve by ETDRK4 for the Fourier series; return values on a closed period.

    Products leave out the upper third of the modes (dealiasing).
    """
    x = np.linspace(0, 2 * np.pi, num_modes, endpoint=False)
    wave = np.arange(num_modes // 2 + 1)
    linear = _GROWTH * wave**2 - _DAMPING * wave**4.0
    factor = -0.5j * _STEEPENING * wave * (wave < num_modes / 3)

    def nonlinear(coefficients):
        return factor * np.fft.rfft(np.fft.irfft(coefficients) ** 2)

    start = np.fft.rfft(np.cos(x) * (1 + np.sin(x)))
    frames = etdrk4(
        linear, nonlinear, start, duration=end, num_steps=num_steps, num_frames=101
    )
    values = np.fft.irfft(frames, 512) * (512 / num_modes)
    return np.concatenate([values, values[:, :1]], axis=1)
