"""The problems as every peer is given them, for torch and JAX alike.

Read by scripts that must not import vrba: the equations, the scaled or periodic inputs
and the exact conditions are those of `vrba.problems`, written once more. `d(i, j)` is a
derivative by the coordinates with these numbers, computed only if asked for.
"""

import dataclasses
from collections.abc import Callable
from math import pi
from typing import Any

INITIAL_WEIGHT = 10.0  # of the mean square of the initial error, as in vrba
POINTS_PER_INITIAL = 8  # as by default in vrba, which scripts here must not import


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem in two coordinates, time first if there is one. Without an `ansatz` the
    `initial` values are a term of the loss."""

    names: tuple[str, str]
    lower: tuple[float, float]
    upper: tuple[float, float]
    residual: Callable[..., Any]
    ansatz: Callable[..., Any] | None = None
    initial: Callable[..., Any] | None = None
    is_periodic: bool = False

    @property
    def num_inputs(self) -> int:
        """How many numbers the network sees."""
        return 3 if self.is_periodic else 2

    def inputs(self, xp: Any, point: Any) -> list[Any]:
        """Coordinates scaled to [-1, 1], or on a circle."""
        first, second = point
        (a, b), (c, d) = self.lower, self.upper
        scaled = (2 * first - (a + c)) / (c - a)
        if self.is_periodic:
            return [scaled, xp.cos(pi * second), xp.sin(pi * second)]
        return [scaled, (2 * second - (b + d)) / (d - b)]

    def output(self, xp: Any, point: Any, network: Any) -> Any:
        """The solution around what the network says."""
        if self.ansatz is None:
            return network
        return self.ansatz(xp, *point, network)


def _burgers(xp, t, x, u, d):
    return d(0) + u * d(1) - 0.01 / pi * d(1, 1)


def _allen_cahn(xp, t, x, u, d):
    return d(0) - 1e-4 * d(1, 1) - 5 * u + 5 * u**3


def _helmholtz(xp, x, y, u, d):
    source = (1 - 17 * pi**2) * xp.sin(pi * x) * xp.sin(4 * pi * y)
    return d(0, 0) + d(1, 1) + u - source


def _poisson(xp, x, y, u, d):
    source = -8 * pi**2 * xp.sin(2 * pi * x) * xp.sin(2 * pi * y)
    return d(0, 0) + d(1, 1) - source


def num_initial(points: int) -> int:
    """On how many points the initial values are held, if they are in the loss."""
    return points // POINTS_PER_INITIAL


CASES = {
    "burgers": Case(
        ("t", "x"),
        (0.0, -1.0),
        (1.0, 1.0),
        _burgers,
        ansatz=lambda xp, t, x, N: -xp.sin(pi * x) + t * (1 - x**2) * N,
    ),
    "allen-cahn": Case(
        ("t", "x"),
        (0.0, -1.0),
        (1.0, 1.0),
        _allen_cahn,
        initial=lambda xp, x: x**2 * xp.cos(pi * x),
        is_periodic=True,
    ),
    "helmholtz": Case(
        ("x", "y"),
        (-1.0, -1.0),
        (1.0, 1.0),
        _helmholtz,
        ansatz=lambda xp, x, y, N: (1 - x**2) * (1 - y**2) * N,
    ),
    "poisson": Case(
        ("x", "y"),
        (0.0, 0.0),
        (1.0, 1.0),
        _poisson,
        ansatz=lambda xp, x, y, N: 16 * x * (1 - x) * y * (1 - y) * N,
    ),
}
