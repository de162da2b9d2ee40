"""Test functions of Moré, Garbow and Hillstrom (1981), as residuals of six numbers.

Each is padded with residuals of its own for the numbers it does not use, so that one
compiled program serves all. `minima` are the sums of squares that they print.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

NUM_PARAMS, NUM_ROWS = 6, 40


class Case(NamedTuple):
    residual: object
    start: tuple
    minima: tuple


def steps(first, last):
    return jnp.arange(first, last + 1, dtype=float)


def helical_angle(x):
    turn = jnp.arctan(x[1] / x[0]) / (2 * jnp.pi)
    return jnp.where(x[0] > 0, turn, turn + 0.5)


def bard(x):
    y = "0.14 0.18 0.22 0.25 0.29 0.32 0.35 0.39 0.37 0.58 0.73 0.96 1.34 2.10 4.39"
    y, u = jnp.array([float(v) for v in y.split()]), steps(1, 15)
    v = 16 - u
    return y - (x[0] + u / (v * x[1] + jnp.minimum(u, v) * x[2]))


def gaussian(x):
    half = [0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521]
    y, t = jnp.array([*half, 0.3989, *half[::-1]]), (8 - steps(1, 15)) / 2
    return x[0] * jnp.exp(-x[1] * (t - x[2]) ** 2 / 2) - y


def kowalik(x):
    y = "0.1957 0.1947 0.1735 0.1600 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246"
    u = "4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625"
    y, u = (jnp.array([float(v) for v in text.split()]) for text in (y, u))
    return y - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])


def brown_dennis(x):
    t = steps(1, 20) / 5
    first = x[0] + t * x[1] - jnp.exp(t)
    return first**2 + (x[2] + x[3] * jnp.sin(t) - jnp.cos(t)) ** 2


def biggs(x):
    t = steps(1, 13) / 10
    y = jnp.exp(-t) - 5 * jnp.exp(-10 * t) + 3 * jnp.exp(-4 * t)
    model = x[2] * jnp.exp(-t * x[0]) - x[3] * jnp.exp(-t * x[1])
    return model + x[5] * jnp.exp(-t * x[4]) - y


def watson(x):
    t, power = steps(1, 29)[:, None] / 29, steps(0, 5)[None, :]
    slope = (power * x[None, :] * t ** jnp.maximum(power - 1, 0)).sum(1)
    rows = slope - (x[None, :] * t**power).sum(1) ** 2 - 1
    return jnp.concatenate([rows, jnp.array([x[0], x[1] - x[0] ** 2 - 1])])


def trigonometric(x):
    x, i = x[:5], steps(1, 5)
    return 5 - jnp.cos(x).sum() + i * (1 - jnp.cos(x)) - jnp.sin(x)


def discrete_boundary(x):
    x, h = x[:5], 1 / 6
    left, right = jnp.append(0.0, x[:-1]), jnp.append(x[1:], 0.0)
    return 2 * x - left - right + h**2 * (x + steps(1, 5) * h + 1) ** 3 / 2


def broyden_tridiagonal(x):
    x = x[:5]
    left, right = jnp.append(0.0, x[:-1]), jnp.append(x[1:], 0.0)
    return (3 - 2 * x) * x - left - 2 * right + 1


def variably_dimensioned(x):
    x, i = x[:5], steps(1, 5)
    total = (i * (x - 1)).sum()
    return jnp.concatenate([x - 1, jnp.stack([total, total**2])])


def penalty_one(x):
    x = x[:4]
    return jnp.append(jnp.sqrt(1e-5) * (x - 1), (x**2).sum() - 0.25)


def brown_almost_linear(x):
    x = x[:5]
    return jnp.append(x[:-1] + x.sum() - 6, jnp.prod(x) - 1)


def box(x):
    t = steps(1, 10) / 10
    tail = x[2] * (jnp.exp(-t) - jnp.exp(-10 * t))
    return jnp.exp(-t * x[0]) - jnp.exp(-t * x[1]) - tail


def beale(x):
    return jnp.array([1.5, 2.25, 2.625]) - x[0] * (1 - x[1] ** steps(1, 3))


def jennrich_sampson(x):
    i = steps(1, 10)
    return 2 + 2 * i - (jnp.exp(i * x[0]) + jnp.exp(i * x[1]))


def rows(*values):
    return jnp.stack(values)


CASES = {
    "rosenbrock": Case(
        lambda x: rows(10 * (x[1] - x[0] ** 2), 1 - x[0]), (-1.2, 1), (0.0,)
    ),
    "freudenstein_roth": Case(
        lambda x: rows(
            -13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1],
            -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1],
        ),
        (0.5, -2),
        (0.0, 48.9842),
    ),
    "powell_badly_scaled": Case(
        lambda x: rows(1e4 * x[0] * x[1] - 1, jnp.exp(-x[0]) + jnp.exp(-x[1]) - 1.0001),
        (0, 1),
        (0.0,),
    ),
    "brown_badly_scaled": Case(
        lambda x: rows(x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2), (1, 1), (0.0,)
    ),
    "beale": Case(beale, (1, 1), (0.0,)),
    "jennrich_sampson": Case(jennrich_sampson, (0.3, 0.4), (124.362,)),
    "helical_valley": Case(
        lambda x: rows(
            10 * (x[2] - 10 * helical_angle(x)),
            10 * (jnp.sqrt(x[0] ** 2 + x[1] ** 2) - 1),
            x[2],
        ),
        (-1, 0, 0),
        (0.0,),
    ),
    "bard": Case(bard, (1, 1, 1), (8.21487e-3, 17.4286)),
    "gaussian": Case(gaussian, (0.4, 1, 0), (1.12793e-8,)),
    "box": Case(box, (0, 10, 20), (0.0,)),
    "powell_singular": Case(
        lambda x: rows(
            x[0] + 10 * x[1],
            jnp.sqrt(5.0) * (x[2] - x[3]),
            (x[1] - 2 * x[2]) ** 2,
            jnp.sqrt(10.0) * (x[0] - x[3]) ** 2,
        ),
        (3, -1, 0, 1),
        (0.0,),
    ),
    "wood": Case(
        lambda x: rows(
            10 * (x[1] - x[0] ** 2),
            1 - x[0],
            jnp.sqrt(90.0) * (x[3] - x[2] ** 2),
            1 - x[2],
            jnp.sqrt(10.0) * (x[1] + x[3] - 2),
            (x[1] - x[3]) / jnp.sqrt(10.0),
        ),
        (-3, -1, -3, -1),
        (0.0,),
    ),
    "kowalik_osborne": Case(kowalik, (0.25, 0.39, 0.415, 0.39), (3.07505e-4,)),
    "brown_dennis": Case(brown_dennis, (25, 5, -5, -1), (85822.2,)),
    "biggs_exp6": Case(biggs, (1, 2, 1, 1, 1, 1), (0.0, 5.65565e-3)),
    "watson": Case(watson, (0, 0, 0, 0, 0, 0), (2.28767e-3,)),
    "penalty_one": Case(penalty_one, (1, 2, 3, 4), (2.24997e-5,)),
    "variably_dimensioned": Case(
        variably_dimensioned, tuple(1 - i / 5 for i in range(1, 6)), (0.0,)
    ),
    "trigonometric": Case(trigonometric, (0.2,) * 5, (0.0, 2.79506e-5)),
    "brown_almost_linear": Case(brown_almost_linear, (0.5,) * 5, (0.0, 1.0)),
    "discrete_boundary": Case(
        discrete_boundary, tuple(i / 6 * (i / 6 - 1) for i in range(1, 6)), (0.0,)
    ),
    "broyden_tridiagonal": Case(broyden_tridiagonal, (-1.0,) * 5, (0.0,)),
}


def padded(name):
    """A case as a function of six numbers with rows enough for all cases."""
    case = CASES[name]
    used = jnp.arange(NUM_PARAMS) < len(case.start)

    def residual(x):
        own = case.residual(x)
        unused = jnp.where(used, 0.0, x)
        missing = NUM_ROWS - own.size - NUM_PARAMS
        return jnp.concatenate([own, unused, jnp.zeros(missing)])

    return residual


BRANCHES = [padded(name) for name in CASES]


def residual_of(x, index):
    """The residuals of a case, chosen by number under one compilation."""
    return jax.lax.switch(index, BRANCHES, x)


def sum_of_squares(x, index):
    return jnp.sum(residual_of(x, index) ** 2)


def start_of(name):
    start = CASES[name].start
    return jnp.asarray(np.pad(np.array(start, float), (0, NUM_PARAMS - len(start))))


def index_of(name):
    return jnp.asarray(list(CASES).index(name))


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
