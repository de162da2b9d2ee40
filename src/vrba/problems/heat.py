"""Heat equation: a problem with known and one with unknown coefficients."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import check_positive
from ..domains import Box
from ._base import Problem
from ._sensors import check_sensors, interior_points, read_sensors
from .conditions import Ansatz
from .reference import Reference, exact_reference
from .unknowns import Unknown

_DIFFUSIVITY, _LOSS = 0.1, 1.0  # true values of `InverseHeat`


class Heat(Problem):
    """`u_t = diffusivity u_xx`, `u(0, x) = sin(pi x) + sin(4 pi x) / 2`, `u = 0` at
    `x = 0` and 1.

    The mode `sin(4 pi x)` decays 16 times as fast as `sin(pi x)`. The initial and
    boundary conditions are hard constraints.

    Good values: `diffusivity = 0.1`. The fast mode has then decayed at `t = 0.3`, and a
    third of the slow one is left at `t = 1`.
    """

    diffusivity: float = 0.1
    domain = Box(t=(0, 1), x=(0, 1))

    def __check_init__(self):
        check_positive(diffusivity=self.diffusivity)

    @override
    def equations(self, u, t, x):
        return {"heat": u.t - self.diffusivity * u.xx}

    @override
    def conditions(self):
        def solution(t, x, N):
            initial = _modes(jnp, jnp.zeros_like(t), x, self.diffusivity)
            return initial + 4 * t * x * (1 - x) * N

        return [Ansatz(solution)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda t, x: _modes(np, t, x, self.diffusivity)
        return exact_reference(self.domain, solution, 201, 201)


class InverseHeat(Problem):
    """`u_t = diffusivity u_xx - loss u` with both coefficients unknown.

    The conditions `u(0, x) = sin(pi x) + sin(3 pi x) / 2` and `u = 0` at both ends are
    hard constraints. Sensors at `num_places` measure `u` at `num_times`, with Gaussian
    noise of `noise` times the root mean square. The two modes decay at the rates
    `diffusivity n^2 pi^2 + loss`, so together they determine both coefficients.

    The true values are `diffusivity = 0.1` and `loss = 1`.

    Good values: 20 places, 50 times, `noise = 0.01`. The spread of the result over
    several `noise_seed`s is its uncertainty.
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
        counts = (self.num_places, self.num_times)
        check_sensors(*counts, self.noise, self.noise_seed)

    @override
    def equations(self, u, t, x, diffusivity, loss):
        return {"heat": u.t - diffusivity * u.xx + loss * u}

    @override
    def conditions(self):
        """Return the known values as an ansatz, and the measurements."""
        solution_fn = lambda t, x: _lossy_modes(t[:, None], x)
        t = interior_points(0, 1, self.num_times)
        x = interior_points(0, 1, self.num_places)
        return [
            Ansatz(lambda t, x, N: _lossy_modes(0.0, x, jnp) + t * x * (1 - x) * N),
            read_sensors(solution_fn, t, x, self.noise, self.noise_seed),
        ]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 101 x 101 points and the true coefficients.

        The error is the difference from extended precision.
        """
        true = {"diffusivity": _DIFFUSIVITY, "loss": _LOSS}
        found = exact_reference(self.domain, _lossy_modes, 101, 101)
        return dataclasses.replace(found, unknowns=true)


def _modes(xp: Any, t: Any, x: Any, diffusivity: float) -> Any:
    """Evaluate the solution of `Heat`, with `numpy` or `jax.numpy` as `xp`."""
    rate = diffusivity * np.pi**2
    slow = xp.exp(-rate * t) * xp.sin(np.pi * x)
    return slow + xp.exp(-16 * rate * t) * xp.sin(4 * np.pi * x) / 2


def _lossy_modes(t: Any, x: Any, xp: Any = np) -> Any:
    """Evaluate the true solution of `InverseHeat`."""
    rate = lambda n: _DIFFUSIVITY * (n * np.pi) ** 2 + _LOSS
    mode = lambda n: xp.exp(-rate(n) * t) * xp.sin(n * np.pi * x)
    return mode(1) + mode(3) / 2
