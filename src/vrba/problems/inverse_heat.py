"""Heat conduction with unknown coefficients, found from noisy sensors."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..domains import Box
from ._base import Problem
from ._sensors import between, check_sensors, read_sensors
from .conditions import Ansatz
from .reference import Reference
from .unknown import Unknown

_DIFFUSIVITY, _LOSS = 0.1, 1.0


class InverseHeat(Problem):
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
        counts = (self.num_places, self.num_times)
        check_sensors(*counts, self.noise, self.noise_seed)

    def equations(self, u, t, x, diffusivity, loss):
        """The balance of heat."""
        return {"heat": u.t - diffusivity * u.xx + loss * u}

    def conditions(self):
        """What is known, exactly; what was measured."""
        truth_fn = lambda t, x: _truth(t[:, None], x)
        t, x = between(0, 1, self.num_times), between(0, 1, self.num_places)
        return [
            Ansatz(lambda t, x, N: _truth(0.0, x, jnp) + t * x * (1 - x) * N),
            read_sensors(truth_fn, t, x, self.noise, self.noise_seed),
        ]

    def reference(self) -> Reference:
        """The exact solution, with the true coefficients."""
        t, x = np.linspace(0, 1, 101), np.linspace(0, 1, 101)
        values = _truth(t[:, None], x)
        true = {"diffusivity": _DIFFUSIVITY, "loss": _LOSS}
        return Reference({"t": t, "x": x}, values, np.finfo(float).eps, true)


def _truth(t: Any, x: Any, xp: Any = np) -> Any:
    """The two modes, each at its own rate, with `numpy` or `jax.numpy` as `xp`."""
    rate = lambda n: _DIFFUSIVITY * (n * np.pi) ** 2 + _LOSS
    mode = lambda n: xp.exp(-rate(n) * t) * xp.sin(n * np.pi * x)
    return mode(1) + mode(3) / 2
