"""Problems that were not tuned on, against exact solutions and second methods."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sparse
from jax.numpy import cos, exp, pi, sin
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import spsolve
from scipy.special import erfc

from benchmarks.problems import (
    Cavity400,
    CooledDisk,
    HeatAcrossInterface,
    HeatAroundCircles,
    HeatForLong,
    HeatInTwoMaterials,
    InteriorLayer,
    InverseFisher,
    InversePoisson,
    LongWave,
    PorousFisher,
    RotatingHill,
    ShortWaves,
    SwiftHohenberg,
    VanDerPol,
    WaveWithVariableSpeed,
    cooled_disk,
    heat_around_circles,
    heat_for_long,
    heat_in_two_materials,
    wave_with_variable_speed,
)
from tests.benchmarks.benchmark_residuals import OFFSETS, residuals_of, stencil
from vrba.fields import Field
from vrba.problems import EQUATIONS, Data, Formulation

NUM_WAVES = 40 * math.pi


def phase(x, y):
    return NUM_WAVES * (math.cos(math.pi / 8) * x + math.sin(math.pi / 8) * y)


def hill(t, x, y):
    across, along = x - cos(t) / 2, y - sin(t) / 2
    variance = 0.01 + 0.002 * t
    return 0.01 / variance * exp(-(across**2 + along**2) / (2 * variance))


# The solution of each field, the size of the terms, and unknowns.
EXACT = {
    InverseFisher: (
        [lambda t, x: (1 + exp((x - 5 * t / 6**0.5) / 6**0.5)) ** -2],
        1,
        {"diffusion": 1.0, "growth": 1.0},
    ),
    InversePoisson: (
        [
            lambda x, y: sin(pi * x) * sin(pi * y),
            lambda x, y: 1 / (3 + 2 * (x**2 - x + y**2 - y)),
        ],
        20,
        {},
    ),
    LongWave: (
        [
            lambda t, x: (
                sum(sin(pi * n * (x + s * t)) / n for n in (1, 3) for s in (1, -1)) / 2
            )
        ],
        20,
        {},
    ),
    PorousFisher: (
        [lambda t, x: 1 - exp(jnp.minimum(x - t / 2**0.5, 0) / 2**0.5)],
        1,
        {},
    ),
    RotatingHill: ([hill], 100, {}),
    ShortWaves: (
        [lambda x, y: cos(phase(x, y)), lambda x, y: sin(phase(x, y))],
        2 * NUM_WAVES**2,
        {},
    ),
}
# The largest error that the reference may state.
NUMERICAL = {Cavity400: 1e-9, CooledDisk: 1e-9, InteriorLayer: 1e-10}
NUMERICAL |= {SwiftHohenberg: 1e-8, VanDerPol: 1e-11}
# References that take some seconds.
LARGE = {HeatAroundCircles: 3e-4, HeatForLong: 1e-3, HeatInTwoMaterials: 2e-3}
LARGE |= {WaveWithVariableSpeed: 5e-4, HeatAcrossInterface: 2e-3}
NEW = {*EXACT, *NUMERICAL, *LARGE}
WITH_EXACT = pytest.mark.parametrize("kind", EXACT)


@functools.cache
def reference(kind):
    problem = kind()
    return problem.reference().check(problem.domain, problem.fields)


def check_reference(kind, largest_error):
    found = reference(kind)
    for name, axis in found.axes.items():
        assert (axis[0], axis[-1]) == pytest.approx(kind.domain.bounds(name), rel=1e-15)
    assert 1e-17 < found.error < largest_error


@pytest.mark.parametrize("kind", EXACT | NUMERICAL)
def test_reference_spans_the_domain_and_states_its_error(kind):
    check_reference(kind, NUMERICAL.get(kind, 1e-13))


# That of `HeatAcrossInterface` is the reference of `HeatInTwoMaterials`.
@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*LARGE} - {HeatAcrossInterface}, key=str))
def test_large_reference_states_its_error(kind):
    check_reference(kind, LARGE[kind])


# Exact solutions.


@WITH_EXACT
def test_reference_is_the_exact_solution(kind):
    found, (fns, _, unknowns) = reference(kind), EXACT[kind]
    assert found.unknowns == unknowns
    rows = np.random.default_rng(0).integers(0, len(found.points()), 300)
    points = jnp.asarray(found.points()[rows])
    for name, fn in zip(kind.fields, fns, strict=True):
        exact = jax.vmap(lambda point, fn=fn: fn(*point))(points)
        np.testing.assert_allclose(found.values[name].ravel()[rows], exact, atol=1e-12)


@WITH_EXACT
def test_solution_satisfies_equations_and_conditions(kind):
    fns, scale, unknowns = EXACT[kind]
    formulation = Formulation(kind())
    for label, term in formulation.terms().items():
        points, numbers = (np.asarray(part) for part in term.sample(200, seed=0))
        if kind is PorousFisher:  # not at the kink
            is_smooth = np.abs(points[:, 1] - points[:, 0] / 2**0.5) > 1e-6
            points, numbers = points[is_smooth], numbers[is_smooth]
        found = residuals_of(term, kind.fields, fns, (points, numbers), unknowns)
        if isinstance(formulation.conditions.get(label), Data):
            assert np.std(found) == pytest.approx(kind().noise, rel=0.05)
            assert abs(np.mean(found)) < 4 * kind().noise / np.sqrt(len(found))
        else:
            np.testing.assert_allclose(found, 0 * found, atol=1e-12 * scale)


# Numerical solutions, differentiated by 13 neighbouring values.


def residual_at(kind, place):
    """The residual at a grid point, with first to fourth derivatives along axes."""
    found, names = reference(kind), kind.domain.coordinates
    fields = []
    for name in kind.fields:
        values = found.values[name]
        jet = {(0,) * len(names): values[place]}
        for number, axis in enumerate(found.axes.values()):
            window = [*place]
            window[number] = place[number] + OFFSETS
            for order in (1, 2, 4):
                index = tuple(order * (k == number) for k in range(len(names)))
                weights = stencil(order, axis[1] - axis[0])
                jet[index] = weights @ values[tuple(window)]
        fields.append(Field(name, names, jet.__getitem__))
    return [*kind().equations(*fields, *names).values()]


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [(InteriorLayer, 1e-7), (VanDerPol, 1e-6), (SwiftHohenberg, 1e-5)],
)
def test_reference_solves_the_equation(kind, tolerance):
    shape = reference(kind).values[kind.fields[0]].shape
    random = np.random.default_rng(0)
    for _ in range(100):
        place = tuple(int(random.integers(6, size - 6)) for size in shape)
        assert np.max(np.abs(residual_at(kind, place))) < tolerance


def test_interior_layer_has_its_conditions_and_its_layer():
    found = reference(InteriorLayer)
    x, values = found.axes["x"], found.values["u"]
    np.testing.assert_allclose(values[[0, -1]], [-1, 1.5], atol=1e-14)
    assert abs(np.interp(0, values, x) - 0.25) < 1e-3
    outer = np.where(x < 0.25, x - 1, x + 0.5)
    is_far = np.abs(x - 0.25) > 0.1
    np.testing.assert_allclose(values[is_far], outer[is_far], atol=1e-5)


def test_oscillator_starts_as_given_and_has_its_period():
    found = reference(VanDerPol)
    t, x = found.axes["t"], found.values["x"]
    assert (x[0], found.values["y"][0]) == (2, 0)
    falls = t[1:][(x[:-1] > 0) & (x[1:] <= 0)]
    assert np.diff(falls) == pytest.approx([19.08], abs=0.01) or len(falls) == 1
    other = solve_ivp(
        lambda t, s: (s[1], 10 * (1 - s[0] ** 2) * s[1] - s[0]),
        (0, 20),
        (2, 0),
        method="Radau",
        t_eval=t[::100],
        rtol=1e-9,
        atol=1e-9,
    )
    np.testing.assert_allclose(other.y[0], x[::100], atol=1e-5)


def test_pattern_starts_as_given():
    found = reference(SwiftHohenberg)
    x, values = found.axes["x"], found.values["u"]
    start = (np.cos(x) + np.sin(x / 2)) / 5
    np.testing.assert_allclose(values[0], start, atol=1e-14)
    np.testing.assert_array_equal(values[:, 0], values[:, -1])


@pytest.mark.slow
def test_cavity_is_at_rest_on_its_walls():
    found = reference(Cavity400)
    lid = 16 * found.axes["x"] ** 2 * (1 - found.axes["x"]) ** 2
    np.testing.assert_allclose(found.values["u"][:, -1], lid, atol=1e-12)
    for values in found.values.values():
        np.testing.assert_allclose(values[[0, -1]], 0, atol=1e-12)
        np.testing.assert_allclose(values[:, 0], 0, atol=1e-12)
    terms = Formulation(Cavity400()).terms()
    assert len(terms) == 7 and max(np.max(found.values["u"]), 1) == 1


def test_cooled_disk_satisfies_equation_and_conditions():
    coefficients = cooled_disk.fit_powers(40)
    step = 0.005
    terms = Formulation(CooledDisk()).terms()
    assert len(terms) == 5
    for term in terms.values():
        points, numbers = (np.asarray(part) for part in term.sample(200, seed=0))
        at = lambda shift, points=points: cooled_disk.evaluate_temperature(
            *(points + shift).T, coefficients
        )
        jet = {(0, 0): at(np.zeros(2))}
        for axis in (0, 1):
            along = np.stack([at(step * k * np.eye(2)[axis]) for k in OFFSETS])
            for order in (1, 2):
                index = (order, 0) if axis == 0 else (0, order)
                jet[index] = stencil(order, step) @ along
        jet = {index: jnp.asarray(values) for index, values in jet.items()}

        def one(values, point, number, term=term):
            found = term.evaluate({"u": values.__getitem__}, point, number, {})
            return jnp.stack([*found.values()])

        found = jax.vmap(one)(jet, jnp.asarray(points), jnp.asarray(numbers))
        np.testing.assert_allclose(found, 0 * found, atol=1e-7)


# Problems of PINNacle, by second methods on coarse grids.


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.fixture(scope="module")
def heat_around():
    return heat_around_circles.solve_heat(0.25)


@pytest.mark.slow
def test_heat_enters_flat_walls_as_into_a_half_space(heat_around):
    """Early, and far from the disks: the solution of one coordinate with exchange."""
    x = heat_around.axes["x"][-3:]
    depth = 8 - x
    assert heat_around.axes["y"][24] == 0
    for row in (1, 2):
        root = math.sqrt(heat_around.axes["t"][row])
        free = erfc(depth / (2 * root) + root) * np.exp(depth + root**2)
        expected = 0.1 * (erfc(depth / (2 * root)) - free)
        found = heat_around.values[row, -3:, 24]
        np.testing.assert_allclose(found, expected, atol=3e-5)


@pytest.mark.slow
def test_heat_around_circles_is_symmetric_and_between_its_limits(heat_around):
    values = heat_around.values
    for other in (values[:, ::-1], values[:, :, ::-1]):
        np.testing.assert_allclose(values, other, atol=1e-12)
    assert np.nanmin(values) > -1e-4 and np.nanmax(values) < 5
    assert np.all(np.isnan(values[0]) == ~is_inside(heat_around))


def is_inside(found):
    t, *axes = found.axes.values()
    points = np.stack([np.ravel(g) for g in np.meshgrid(t[:1], *axes, indexing="ij")])
    inside = HeatAroundCircles.domain.contains(points.T)
    return inside.reshape(len(axes[0]), len(axes[1]))


def test_long_heat_agrees_with_collocation():
    """On the whole square, without its symmetry, with another integrator."""
    found = heat_for_long.solve_heat(16, 3000)
    size = 63
    orders = np.arange(1, size + 1)
    places = orders / (size + 1)
    sines = np.sin(np.pi * np.outer(places, orders))
    second = sines @ np.diag(-((np.pi * orders) ** 2)) @ np.linalg.inv(sines)
    shape = np.outer(np.sin(4 * np.pi * places), np.sin(2 * np.pi * places))
    start = np.outer(np.sin(4 * np.pi * places), np.sin(3 * np.pi * places))

    def slope(t, state):
        u = state.reshape(size, size)
        source = 5 * np.sin(u**2) * (1 + 2 * np.sin(np.pi * t / 4)) * shape
        return np.ravel(0.001 * (second @ u + u @ second.T) + source)

    end = solve_ivp(slope, (0, 2), np.ravel(start), rtol=1e-5, atol=1e-5).y[:, -1]
    grid = np.sin(np.pi * np.outer(np.linspace(0, 1, 41), orders))
    inverse = np.linalg.inv(sines)
    expected = grid @ inverse @ end.reshape(size, size) @ inverse.T @ grid.T
    assert relative(found[1], expected) < 1e-2
    np.testing.assert_allclose(found[:, ::10], 0, atol=1e-12)


def test_two_materials_agree_with_finite_volumes():
    """A first-order method with harmonic means, for the part that stays."""
    size = 120
    middles = (np.arange(size) + 0.5) / size
    x, y = np.meshgrid(middles, middles, indexing="ij")
    level = heat_in_two_materials.random_level(np, x, y)
    coefficient = np.where(level < 0, 1.0, 12.0)
    number = np.arange(size**2).reshape(size, size)
    total = sparse.csr_matrix((size**2, size**2))
    for k, places in ((coefficient, number), (coefficient.T, number.T)):
        flow = 2 * k[1:] * k[:-1] / (k[1:] + k[:-1]) * size**2
        one, other = places[1:].ravel(), places[:-1].ravel()
        rows, columns = np.r_[one, other, one, other], np.r_[one, other, other, one]
        flows = np.r_[flow.ravel(), flow.ravel(), -flow.ravel(), -flow.ravel()]
        ends = np.r_[places[0], places[-1]]
        walls = 2 * size**2 * np.r_[k[0], k[-1]]
        total += sparse.csr_matrix((flows, (rows, columns)), total.shape)
        total += sparse.csr_matrix((walls, (ends, ends)), total.shape)
    source = heat_in_two_materials.source_shape(np, x, y)
    matrix = total + 1j * np.pi * sparse.identity(size**2)
    periodic = spsolve(matrix.tocsc(), np.ravel(source).astype(complex))
    values = heat_in_two_materials.solve_heat(0.05)
    assert not np.any(values[0])
    np.testing.assert_allclose(values[:, [0, -1]], 0, atol=1e-12)
    (row,) = np.nonzero(np.isclose(np.linspace(0, 5, 51), 4.5))[0]
    expected = np.imag(np.exp(4.5j * np.pi) * periodic).reshape(size, size)
    expected = (expected[1:, 1:] + expected[:-1, :-1]) / 4 + (
        expected[1:, :-1] + expected[:-1, 1:]
    ) / 4  # at the corners of the volumes
    every = expected[2::3, 2::3]  # at multiples of 1/40
    assert relative(values[row, 1:-1, 1:-1], every) < 2e-2


def test_wave_agrees_with_finite_differences():
    size, steps = 160, 20
    axis = np.linspace(-1, 1, size + 1)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    factor = (0.1 / steps * size / 2) ** 2
    speed = wave_with_variable_speed.squared_speed(np, x, y)
    assert factor * np.max(speed) < 0.5

    def push(u):
        wide = np.pad(u, 1, mode="reflect")
        total = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        return factor * speed * (total - 4 * u)

    now = wave_with_variable_speed.initial_height(np, x, y)
    before, frames = now + push(now) / 2, [now]
    for step in range(50 * steps):
        now, before = 2 * now - before + push(now), now
        if (step + 1) % steps == 0:
            frames.append(now)
    every = size // 40
    expected = np.stack(frames)[:, ::every, ::every]
    assert relative(wave_with_variable_speed.solve_wave(80), expected) < 1e-2


@pytest.mark.slow  # of many disks
@pytest.mark.parametrize("kind", LARGE)
def test_large_problem_has_finite_terms(kind):
    problem = kind()
    equations = Formulation(problem).terms()[EQUATIONS]
    fns = [lambda *point: sin(sum(point))] * len(problem.fields)
    rows = equations.sample(50, seed=0)
    assert np.all(np.isfinite(residuals_of(equations, kind.fields, fns, rows)))
