"""Helmholtz with different wavelengths in the two directions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from ..core import InputError, check_count
from ..domains import Box
from ._base import Problem
from .conditions import Ansatz
from .reference import Reference, exact_reference

# Smallest relative distance of the squared wave number from a resonance, where the
# homogeneous equation has solutions, too.
_GAP = 0.01


class Helmholtz(Problem):
    """`u_xx + u_yy + wave_number^2 u = f`, `u = 0` on the boundary of `[-1, 1]^2`.

    The source gives the solution `u = sin(m pi x) sin(n pi y)` with the frequencies `m`
    and `n`. The boundary condition is a hard constraint. Wave numbers near a resonance,
    where `(2 wave_number / pi)^2` is a sum of two squares, raise an error.

    Good values: `frequency_x = 1`, `frequency_y = 4`, `wave_number = 1`, the usual
    test. Higher frequencies need larger networks.
    """

    frequency_x: int = 1
    frequency_y: int = 4
    wave_number: float = 1.0
    domain = Box(x=(-1, 1), y=(-1, 1))

    def __check_init__(self):
        check_count(frequency_x=self.frequency_x, frequency_y=self.frequency_y)
        resonance = _nearest_resonance(self.wave_number)
        if abs(self.wave_number**2 / resonance**2 - 1) < _GAP:
            raise InputError(
                f"`wave_number` must not be near {resonance:.6g}, where the solution "
                f"is not unique, got {self.wave_number:g}."
            )

    @override
    def equations(self, u, x, y):
        total = self.frequency_x**2 + self.frequency_y**2
        rate = self.wave_number**2 - jnp.pi**2 * total
        source = rate * _solution(jnp, x, y, self.frequency_x, self.frequency_y)
        return {"wave": u.xx + u.yy + self.wave_number**2 * u - source}

    @override
    def conditions(self):
        return [Ansatz(lambda x, y, N: (1 - x**2) * (1 - y**2) * N)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        frequencies = self.frequency_x, self.frequency_y
        solution = lambda x, y: _solution(np, x, y, *frequencies)
        return exact_reference(self.domain, solution, 201, 201)


def _solution(xp: Any, x: Any, y: Any, frequency_x: int, frequency_y: int) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    return xp.sin(np.pi * frequency_x * x) * xp.sin(np.pi * frequency_y * y)


def _nearest_resonance(wave_number: float) -> float:
    """Return the closest resonance, the root of `(pi / 2)^2 (m^2 + n^2)`."""
    counts = np.arange(1, int(2 * abs(wave_number) / np.pi) + 3)
    roots = np.pi / 2 * np.sqrt(np.add.outer(counts**2, counts**2))
    return float(roots.flat[np.argmin(np.abs(roots - abs(wave_number)))])
