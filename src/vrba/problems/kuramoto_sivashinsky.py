"""Kuramoto-Sivashinsky: long waves grow, short ones fade, steepening links them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..domains import Box
from ._base import AbstractProblem
from ._spectral import etdrk4, relative_difference
from .conditions import Ansatz, Periodic
from .reference import Reference

_STEEPENING = 100 / 16
_GROWTH = 100 / 16**2
_DAMPING = 100 / 16**4
_END = 0.4


class KuramotoSivashinsky(AbstractProblem):
    """`u_t + 100/16 u u_x + 100/16^2 u_xx + 100/16^4 u_xxxx = 0`,
    `u(0, x) = cos(x) (1 + sin(x))`, periodic in `x`.

    The initial wave steepens, and from `t = 0.3` on ripples form at its front. Up to
    `t = 0.4`, the end here, the solution is regular; later it becomes chaotic, and no
    method tells where it goes for long. The initial values and the period hold exactly,
    by the form of the solution.
    """

    domain = Box(t=(0, _END), x=(0, 2 * np.pi))

    def equations(self, u, t, x):
        """The balance of steepening, growth and damping."""
        steepening = _STEEPENING * u * u.x
        return {"front": u.t + steepening + _GROWTH * u.xx + _DAMPING * u.xxxx}

    def conditions(self):
        """Periodicity, and an ansatz with the initial values."""
        initial = lambda x: jnp.cos(x) * (1 + jnp.sin(x))
        return [Periodic("x"), Ansatz(lambda t, x, N: initial(x) + t * N)]

    def reference(self) -> Reference:
        """A spectral solution with 512 modes and 6,000 steps on 101 x 513 points.

        Its error is the distance to one with 384 modes and half the steps, which is
        that solution's own error, or a little more.
        """
        values = _solve(num_modes=512, num_steps=6000)
        error = relative_difference(_solve(num_modes=384, num_steps=3000), values)
        t, x = np.linspace(0, _END, 101), np.linspace(0, 2 * np.pi, 513)
        return Reference({"t": t, "x": x}, values, error)


def _solve(num_modes: int, num_steps: int) -> Float[np.ndarray, "101 513"]:
    """ETDRK4 for the Fourier series, with the upper third of the modes left out of
    products, and the result on 512 points and the first again."""
    x = np.linspace(0, 2 * np.pi, num_modes, endpoint=False)
    wave = np.arange(num_modes // 2 + 1)
    linear = _GROWTH * wave**2 - _DAMPING * wave**4.0
    slope = -0.5j * _STEEPENING * wave * (wave < num_modes / 3)

    def nonlinear(coefficients):
        return slope * np.fft.rfft(np.fft.irfft(coefficients) ** 2)

    start = np.fft.rfft(np.cos(x) * (1 + np.sin(x)))
    frames = etdrk4(
        linear, nonlinear, start, duration=_END, num_steps=num_steps, num_frames=101
    )
    values = np.fft.irfft(frames, 512) * (512 / num_modes)
    return np.concatenate([values, values[:, :1]], axis=1)
