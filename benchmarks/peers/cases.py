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
END_WEIGHT = 100.0  # of that of the values at the end, likewise
_ALL_SIDES = ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))
POINTS_PER_INITIAL = 8  # as by default in vrba, which scripts here must not import


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem in two coordinates, time first if there is one.

    `initial` values, and values at the upper `end` of the second coordinate, are terms
    of the loss.
    """

    names: tuple[str, str]
    lower: tuple[float, float]
    upper: tuple[float, float]
    residual: Callable[..., Any]
    ansatz: Callable[..., Any] | None = None
    initial: Callable[..., Any] | None = None
    end: Callable[..., Any] | None = None
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


def _helmholtz_solution(xp, x, y):
    return xp.sin(pi * x) * xp.sin(4 * pi * y)


def _helmholtz_source(xp, x, y):
    return (1 - 17 * pi**2) * _helmholtz_solution(xp, x, y)


def _helmholtz(xp, x, y, u, d):
    return d(0, 0) + d(1, 1) + u - _helmholtz_source(xp, x, y)


def _poisson_solution(xp, x, y):
    return xp.sin(2 * pi * x) * xp.sin(2 * pi * y)


def _poisson_source(xp, x, y):
    return -8 * pi**2 * _poisson_solution(xp, x, y)


def _poisson(xp, x, y, u, d):
    return d(0, 0) + d(1, 1) - _poisson_source(xp, x, y)


def _klein_gordon_solution(xp, t, x):
    return x * xp.cos(5 * pi * t) + (t * x) ** 3


def _klein_gordon_source(xp, t, x):
    u_tt = 6 * t * x**3 - 25 * pi**2 * x * xp.cos(5 * pi * t)
    return u_tt - 6 * t**3 * x + _klein_gordon_solution(xp, t, x) ** 3


def _klein_gordon(xp, t, x, u, d):
    return d(0, 0) - d(1, 1) + u**3 - _klein_gordon_source(xp, t, x)


@dataclasses.dataclass(frozen=True)
class FeatureCase:
    """A problem as FastLSQ has it: no output transform, and conditions as rows.

    `sum factor D^index u + cubic u^3 = source` on the rectangle of the case of the same
    name. `sides` holds an axis, its end (0 lower, 1 upper) and the order of the
    derivative along it. Values there come from the exact solution; a given derivative
    is zero.
    """

    operator: dict[tuple[int, int], float]
    exact: Callable[..., Any]
    source: Callable[..., Any]
    sides: tuple[tuple[int, int, int], ...] = _ALL_SIDES
    cubic: float = 0.0


def num_initial(points: int) -> int:
    """On how many points initial values or those at an end are held in the loss."""
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
    "klein-gordon": Case(
        ("t", "x"),
        (0.0, 0.0),
        (1.0, 1.0),
        _klein_gordon,
        ansatz=lambda xp, t, x, N: x + t**2 / (t**2 + 1 / (25 * pi**2)) * x * N,
        end=lambda xp, t: _klein_gordon_solution(xp, t, 1.0),
    ),
}

FEATURE_CASES = {
    "poisson": FeatureCase(
        {(2, 0): 1.0, (0, 2): 1.0}, _poisson_solution, _poisson_source
    ),
    "helmholtz": FeatureCase(
        {(2, 0): 1.0, (0, 2): 1.0, (0, 0): 1.0}, _helmholtz_solution, _helmholtz_source
    ),
    "klein-gordon": FeatureCase(
        {(2, 0): 1.0, (0, 2): -1.0},
        _klein_gordon_solution,
        _klein_gordon_source,
        sides=((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0)),
        cubic=1.0,
    ),
}
