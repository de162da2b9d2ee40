"""Heat conduction with unknown coefficients, found from noisy sensors."""

import jax.numpy as jnp
import numpy as np

from ..domains import Box
from ._base import AbstractProblem
from ._sensors import check_sensors, read_sensors
from .conditions import Ansatz
from .reference import Reference
from .unknown import Unknown

_DIFFUSIVITY, _LOSS = 0.1, 1.0


class InverseHeat(AbstractProblem):
    """`u_t = diffusivity u_xx - loss u` with both coefficients sought.

    `u(0, x) = sin(pi x) + sin(3 pi x) / 2` and `u = 0` at both ends are known and hold
    exactly. Sensors at `num_places` read `u` at `num_times`, with Gaussian noise of
    `noise` times its root mean square. The two modes decay at rates
    `diffusivity n^2 pi^2 + loss`, which together tell the coefficients apart.

    The truth is a diffusivity of 0.1 and a loss of 1.

    Good values: 20 places, 50 times, a noise of 0.01. Another `noise_seed` draws other
    noise: the spread of what is found over several of them is its uncertainty.
    """

    num_places: int = 20
    num_times: int = 50
    noise: float = 0.01
    noise_seed: int = 0
    domain = Box(t=(0, 1), x=(0, 1))
    unknowns = {
        "diffusivity": Unknown(0.5, is_positive=True),
        "loss": Unknown(0.0),
    }

    def __check_init__(self):
        """Settings in range."""
        check_sensors(self.num_places, self.num_times, self.noise)

    def equations(self, u, t, x, diffusivity, loss):
        """The balance of heat."""
        return {"heat": u.t - diffusivity * u.xx + loss * u}

    def conditions(self):
        """What is known, exactly; what was measured."""
        truth_fn = lambda t, x: _truth(t[:, None], x)
        counts = (self.num_places, self.num_times)
        return [
            Ansatz(lambda t, x, N: _at_start(x, jnp) + t * x * (1 - x) * N),
            read_sensors(self.domain, truth_fn, *counts, self.noise, self.noise_seed),
        ]

    def reference(self) -> Reference:
        """The exact solution, with the true coefficients."""
        t, x = np.linspace(0, 1, 101), np.linspace(0, 1, 101)
        values = _truth(t[:, None], x)
        true = {"diffusivity": _DIFFUSIVITY, "loss": _LOSS}
        return Reference({"t": t, "x": x}, values, np.finfo(float).eps, true)


def _at_start(x, numpy):
    return numpy.sin(np.pi * x) + numpy.sin(3 * np.pi * x) / 2


def _truth(t, x):
    """The two modes, each at its own rate."""
    rate = lambda n: _DIFFUSIVITY * (n * np.pi) ** 2 + _LOSS
    mode = lambda n: np.exp(-rate(n) * t) * np.sin(n * np.pi * x)
    return mode(1) + mode(3) / 2
