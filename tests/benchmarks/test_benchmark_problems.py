"""The problems of the benchmarks against independent forms of their solutions."""

import dataclasses
import functools
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.numpy import cos, exp, pi, sin, sqrt, tanh

from benchmarks.problems import (
    Barenblatt,
    Biharmonic,
    BoundaryLayer,
    Eikonal,
    FisherKPP,
    Kovasznay,
    Lorenz,
    PlainBurgers,
    SquareWithFourHoles,
    TwoConductors,
    all_problems,
    square_with_four_holes,
)
from tests.benchmarks.benchmark_residuals import OFFSETS, residuals_of, stencil
from tests.benchmarks.test_benchmark_new_problems import NEW
from tests.rooms import concrete
from vrba.cli.problem_argument import load_problem
from vrba.fields import Field
from vrba.problems import EQUATIONS, Burgers, Formulation, Problem

FOLDER = Path(square_with_four_holes.__file__).parent
RATE = 20 - math.sqrt(400 + 4 * math.pi**2)  # of Kovasznay's flow


def layer(x):
    last = math.exp(-1000)
    return x - (exp((x - 1) / 1e-3) - last) / (1 - last)


def front(t, x):
    return (1 - tanh((x - 5 * t / sqrt(6.0)) / sqrt(24.0))) ** 2 / 4


def pressed_gas(t, x):
    square = 1 - x**2 / (12 * sqrt(t))
    is_inside = square > 0
    height = sqrt(jnp.where(is_inside, square, 1.0)) / t**0.25
    return jnp.where(is_inside, height, 0.0)


# The solution of each field at the default settings, and the size of the terms.
EXACT = {
    Barenblatt: ([pressed_gas], 1e3),
    Biharmonic: ([lambda x, y: (1 - cos(2 * pi * x)) * (1 - cos(2 * pi * y)) / 4], 2e3),
    BoundaryLayer: ([layer], 1e3),
    FisherKPP: ([front], 1),
    Kovasznay: (
        [
            lambda x, y: 1 - exp(RATE * x) * cos(2 * pi * y),
            lambda x, y: RATE / (2 * pi) * exp(RATE * x) * sin(2 * pi * y),
            lambda x, y: (1 - exp(2 * RATE * x)) / 2,
        ],
        100,
    ),
}
NUMERICAL = {Eikonal, Lorenz, SquareWithFourHoles, TwoConductors}
WITH_EXACT = pytest.mark.parametrize("kind", EXACT)
HARD = {*EXACT, *NUMERICAL, PlainBurgers}


def test_every_problem_is_listed_and_tested():
    found = set(all_problems().values())
    assert found == set(concrete("benchmarks.problems", Problem))
    assert found == HARD | NEW and not HARD & NEW
    assert "boundary-layer" in all_problems()
    loaded = {type(load_problem(str(file), ())) for file in FOLDER.glob("[!_]*.py")}
    assert {kind.__name__ for kind in loaded} == {kind.__name__ for kind in found}


@functools.cache  # for each kind
def reference(kind):
    problem = kind()
    return problem.reference().check(problem.domain, problem.fields)


@pytest.mark.parametrize("kind", sorted(HARD, key=str))
def test_reference_spans_the_domain_and_states_its_error(kind):
    found = reference(kind)
    assert set(found.values) == set(kind.fields)
    for name, axis in found.axes.items():
        assert (axis[0], axis[-1]) == kind.domain.bounds(name)
    assert 1e-17 < found.error < 1e-11


@pytest.mark.parametrize("kind", all_problems().values())
def test_settings_out_of_range_are_refused(kind):
    for field in dataclasses.fields(kind):
        for value in (math.nan, math.inf, 0.0, -1.0):
            with pytest.raises(ValueError, match=field.name):
                kind(**{field.name: value})


# Exact solutions.


@WITH_EXACT
def test_reference_is_the_exact_solution(kind):
    found, (fns, _) = reference(kind), EXACT[kind]
    rows = np.random.default_rng(0).integers(0, len(found.points()), 300)
    points = jnp.asarray(found.points()[rows])
    for name, fn in zip(kind.fields, fns, strict=True):
        exact = jax.vmap(lambda point, fn=fn: fn(*point))(points)
        np.testing.assert_allclose(found.values[name].ravel()[rows], exact, atol=1e-12)


@WITH_EXACT
def test_solution_satisfies_equations_and_conditions(kind):
    fns, scale = EXACT[kind]
    for label, term in Formulation(kind()).terms().items():
        points, numbers = term.sample(200, seed=0)
        if kind is Barenblatt and label == EQUATIONS:  # not at the fronts
            edge = np.sqrt(12) * points[:, 0] ** 0.25
            is_smooth = np.abs(np.abs(points[:, 1]) / edge - 1) > 0.05
            points, numbers = points[is_smooth], numbers[is_smooth]
        found = residuals_of(term, kind.fields, fns, (points, numbers))
        size = scale if label == EQUATIONS else 1.0
        np.testing.assert_allclose(found, 0 * found, atol=1e-12 * size)


# References on grids, differentiated by 13 neighbouring values in each direction.


def grid_residuals(kind, rows):
    """Residuals at grid points, where all neighbours are in the domain."""
    (x, y), values = reference(kind).axes.values(), reference(kind).values["u"]
    residuals = []
    for row, column in rows:
        along, across = values[row + OFFSETS, column], values[row, column + OFFSETS]
        if not np.all(np.isfinite([along, across])):
            continue
        jet = {(0, 0): values[row, column]}
        for order in (1, 2):
            jet[order, 0] = stencil(order, x[1] - x[0]) @ along
            jet[0, order] = stencil(order, y[1] - y[0]) @ across
        field = Field("u", ("x", "y"), jet.__getitem__)
        (residual,) = kind().equations(field, x[row], y[column]).values()
        residuals.append(float(residual))
    return np.asarray(residuals)


@pytest.mark.parametrize(
    ("kind", "margin", "tolerance"),
    [(Eikonal, 8, 1e-10), (SquareWithFourHoles, 6, 1e-4)],
)
def test_reference_solves_the_equation(kind, margin, tolerance):
    """The source is one for the eikonal equation, and up to 190 with the holes."""
    size = len(reference(kind).axes["x"])
    rows = np.random.default_rng(0).integers(margin, size - margin, (300, 2))
    found = grid_residuals(kind, rows)
    assert len(found) > 100 and np.max(np.abs(found)) < tolerance


def test_eikonal_is_zero_on_the_boundary_and_symmetric():
    values = reference(Eikonal).values["u"]
    assert not np.any(values[[0, -1]]) and not np.any(values[:, [0, -1]])
    for other in (values.T, values[::-1], values[:, ::-1]):
        np.testing.assert_allclose(values, other, atol=1e-14)
    assert np.all(values[1:-1, 1:-1] > 0) and np.max(values) < 0.5


def test_screened_solution_satisfies_its_conditions():
    coefficients = square_with_four_holes.fit_multipoles()
    terms = Formulation(SquareWithFourHoles()).terms()
    assert len(terms) == 3
    for term in [term for label, term in terms.items() if label != EQUATIONS]:
        points, numbers = (np.asarray(part) for part in term.sample(200, seed=0))
        values = square_with_four_holes.evaluate_solution(*points.T, coefficients)

        def at(point, number, value, term=term):
            lookups = {"u": {(0, 0): value}.__getitem__}
            return jnp.stack([*term.evaluate(lookups, point, number, {}).values()])

        found = jax.vmap(at)(*map(jnp.asarray, (points, numbers, values)))
        np.testing.assert_allclose(found, 0 * found, atol=1e-12)


# Lorenz.


def lorenz_by_taylor_series(times, order=30):
    """Extended precision, one power series for each time step."""
    state = np.array([-8, 7, 27], np.longdouble)
    found = [state]
    for step in np.diff(times.astype(np.longdouble)):
        x, y, z = (np.zeros(order + 1, np.longdouble) for _ in range(3))
        x[0], y[0], z[0] = state
        for n in range(order):
            past = slice(n, None, -1) if n else slice(0, 1)
            x[n + 1] = 10 * (y[n] - x[n]) / (n + 1)
            y[n + 1] = (28 * x[n] - y[n] - x[: n + 1] @ z[past]) / (n + 1)
            z[n + 1] = (x[: n + 1] @ y[past] - np.longdouble(8) / 3 * z[n]) / (n + 1)
        powers = step ** np.arange(order + 1)
        state = np.array([powers @ part for part in (x, y, z)])
        found.append(state)
    return np.stack(found, axis=1)


def test_lorenz_is_the_sum_of_its_taylor_series():
    found, every = reference(Lorenz), 20
    values = np.stack([found.values[name][::every] for name in Lorenz.fields])
    exact = lorenz_by_taylor_series(found.axes["t"][::every])
    np.testing.assert_array_equal(values[:, 0], exact[:, 0])
    assert np.linalg.norm(values - exact) < found.error * np.linalg.norm(exact)
    assert np.any(exact[0] > 5) and np.any(exact[0] < -5)


def test_lorenz_reference_satisfies_equations_and_conditions():
    problem, values = Lorenz(), reference(Lorenz).values
    start = {one.field: one.value for one in problem.conditions()}
    assert start == {name: values[name][0] for name in problem.fields}
    for row in (6, 700, 1990):
        fields = []
        for name in problem.fields:
            rate = stencil(1, 1e-3) @ values[name][row + OFFSETS]
            jet = {(0,): values[name][row], (1,): rate}
            fields.append(Field(name, ("t",), jet.__getitem__))
        left = problem.equations(*fields, None)
        assert max(abs(value) for value in left.values()) < 1e-8


# An interface: the solution on each side.


def conductors(x, y):
    """Real parts of analytic functions of the place `z`, in and outside the disk."""
    real, imaginary = x - 0.1, y + 0.05
    inverse = real / (real**2 + imaginary**2)
    return jnp.stack([2 * real / 101, real - 99 / 101 / 4 * inverse])


def test_two_conductors():
    found, form = reference(TwoConductors), Formulation(TwoConductors())
    x, y = np.meshgrid(*found.axes.values(), indexing="ij")
    with np.errstate(invalid="ignore", divide="ignore"):
        inside, outside = conductors(x, y)
    is_inside = np.hypot(x - 0.1, y + 0.05) < 0.5
    exact = np.where(is_inside, inside, outside)
    np.testing.assert_allclose(found.values["u"], exact, atol=1e-14)
    stack, network = lambda *p: jnp.stack(p), lambda p: conductors(*p)
    for label, term in form.terms().items():
        rows = tuple(map(jnp.asarray, term.sample(200, seed=0)))
        run = jax.jit(jax.vmap(lambda row, t=term: t(stack, network, row)))
        size = 100 if label == EQUATIONS else 1
        np.testing.assert_allclose(run(rows), 0, atol=1e-12 * size, err_msg=label)


# Burgers.


def test_plain_burgers_is_the_problem_of_the_package():
    own, usual = PlainBurgers(), Burgers()
    formulations = Formulation(own), Formulation(usual)
    equations = [one.terms()[EQUATIONS] for one in formulations]
    fns = [lambda t, x: -sin(pi * x) * exp(-t)]
    rows = equations[0].sample(200, seed=0)
    found, expected = (residuals_of(one, ("u",), fns, rows) for one in equations)
    np.testing.assert_array_equal(found, expected)
    values = reference(PlainBurgers).values["u"]
    assert reference(PlainBurgers).error == usual.reference().error
    x = reference(PlainBurgers).axes["x"]
    np.testing.assert_allclose(values[0], -np.sin(np.pi * x), atol=1e-12)
    np.testing.assert_allclose(values[:, [0, -1]], 0, atol=1e-12)
