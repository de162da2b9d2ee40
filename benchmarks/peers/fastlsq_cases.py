"""Problems of the package as FastLSQ is given them, for torch, numpy and JAX alike.

Read by a script that must not import vrba. FastLSQ has no output transform: conditions
that are exact in vrba are rows of its least-squares problem.
"""

import dataclasses
from collections.abc import Callable
from math import pi
from typing import Any

BOX = ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))


@dataclasses.dataclass(frozen=True)
class Case:
    """`sum factor D^index u + cubic u^3 = source` on a rectangle, time first if any.

    `sides` holds an axis, its end (0 lower, 1 upper) and the order of the derivative
    along it: values come from the exact solution, and a given derivative is zero.
    """

    lower: tuple[float, float]
    upper: tuple[float, float]
    operator: dict[tuple[int, int], float]
    exact: Callable[..., Any]
    source: Callable[..., Any]
    sides: tuple[tuple[int, int, int], ...] = BOX
    cubic: float = 0.0


def _poisson(xp, x, y):
    return xp.sin(2 * pi * x) * xp.sin(2 * pi * y)


def _helmholtz(xp, x, y):
    return xp.sin(pi * x) * xp.sin(4 * pi * y)


def _klein_gordon(xp, t, x):
    return x * xp.cos(5 * pi * t) + (t * x) ** 3


def _force(xp, t, x):
    u_tt = 6 * t * x**3 - 25 * pi**2 * x * xp.cos(5 * pi * t)
    return u_tt - 6 * t**3 * x + _klein_gordon(xp, t, x) ** 3


FASTLSQ_CASES = {
    "poisson": Case(
        (0.0, 0.0),
        (1.0, 1.0),
        {(2, 0): 1.0, (0, 2): 1.0},
        _poisson,
        lambda xp, x, y: -8 * pi**2 * _poisson(xp, x, y),
    ),
    "helmholtz": Case(
        (-1.0, -1.0),
        (1.0, 1.0),
        {(2, 0): 1.0, (0, 2): 1.0, (0, 0): 1.0},
        _helmholtz,
        lambda xp, x, y: (1 - 17 * pi**2) * _helmholtz(xp, x, y),
    ),
    "klein-gordon": Case(
        (0.0, 0.0),
        (1.0, 1.0),
        {(2, 0): 1.0, (0, 2): -1.0},
        _klein_gordon,
        _force,
        sides=((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0)),
        cubic=1.0,
    ),
}
