"""Every shipped problem against an independent form of its exact solution.

The exact solutions are textbook formulas, differentiated by JAX itself.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.numpy import cos, cosh, exp, pi, sin
from scipy import integrate

from tests.rooms import concrete
from vrba import problems
from vrba.fields import Field
from vrba.problems import (
    EQUATIONS,
    Advection,
    AllenCahn,
    Ansatz,
    Burgers,
    Cavity,
    ClassicalCavity,
    Formulation,
    Heat,
    Helmholtz,
    InverseBurgers,
    InverseHeat,
    KdV,
    KleinGordon,
    KuramotoSivashinsky,
    LShape,
    PeakPoisson,
    Periodic,
    PlateWithHole,
    Poisson,
    Poisson5D,
    Problem,
    Schroedinger,
    Wave,
)

kuramoto_sivashinsky = problems.kuramoto_sivashinsky


def soliton(t, x):
    size = 2 / cosh(2 * (x - t))
    return size * cos(x + 1.5 * t), size * sin(x + 1.5 * t)


# The solution at the default settings, and how large the terms of its equation are.
EXACT = {
    Poisson: (lambda x, y: sin(2 * pi * x) * sin(2 * pi * y), 79),
    PeakPoisson: (lambda x, y: exp(-1000 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)), 4000),
    Poisson5D: (lambda *point: math.prod(sin(pi * x) for x in point), 50),
    Helmholtz: (lambda x, y: sin(pi * x) * sin(4 * pi * y), 168),
    Advection: (lambda t, x: sin(x - 30 * t), 30),
    Heat: (
        lambda t, x: (
            exp(-0.1 * pi**2 * t) * sin(pi * x)
            + exp(-1.6 * pi**2 * t) * sin(4 * pi * x) / 2
        ),
        8,
    ),
    Wave: (
        lambda t, x: (
            sin(pi * x) * cos(2 * pi * t) + sin(4 * pi * x) * cos(8 * pi * t) / 2
        ),
        300,
    ),
    KleinGordon: (lambda t, x: x * cos(5 * pi * t) + (x * t) ** 3, 250),
    Schroedinger: (soliton, 10),
}
FLOWS = {Cavity, ClassicalCavity, LShape, PlateWithHole}  # in test_problems_flows
INVERSE = {InverseBurgers, InverseHeat}  # in test_problems_unknowns
ELSEWHERE = {Burgers, AllenCahn, KdV} | FLOWS | INVERSE
FOUND = concrete("vrba.problems", Problem)
WITH_EXACT = pytest.mark.parametrize("kind", EXACT)


def test_every_problem_is_tested():
    others = ELSEWHERE | {KuramotoSivashinsky}  # further below
    assert set(EXACT) | others == set(FOUND) and not set(EXACT) & others


@functools.cache  # for each kind
def reference(kind):
    problem = kind()
    return problem.reference().check(problem.domain, problem.fields)


def fields_of(kind):
    """The exact solution as a function of each field's own."""
    names = kind.fields
    if len(names) == 1:
        return {names[0]: EXACT[kind][0]}
    return {
        name: lambda *point, k=k: EXACT[kind][0](*point)[k]
        for k, name in enumerate(names)
    }


def derivative(fn, index):
    """By JAX's own reverse mode, as often as the index says."""
    for coordinate, times in enumerate(index):
        for _ in range(times):
            fn = jax.grad(fn, coordinate)
    return fn


# References.


@pytest.mark.parametrize("kind", [*EXACT, KuramotoSivashinsky])
def test_reference_spans_the_domain_and_states_its_error(kind):
    problem, found = kind(), reference(kind)
    for name, axis in found.axes.items():
        assert (axis[0], axis[-1]) == problem.domain.bounds(name)
    assert 1e-17 < found.error < 1e-12


@WITH_EXACT
def test_reference_is_the_textbook_solution(kind):
    found = reference(kind)
    rows = np.random.default_rng(0).integers(0, len(found.points()), 300)
    points = jnp.asarray(found.points()[rows])
    for name, fn in fields_of(kind).items():
        exact = jax.vmap(lambda point, fn=fn: fn(*point))(points)
        np.testing.assert_allclose(found.values[name].ravel()[rows], exact, atol=2e-13)


@WITH_EXACT
def test_solution_satisfies_equations_and_conditions_of_the_loss(kind):
    problem, fields = kind(), fields_of(kind)
    names, scale = problem.domain.coordinates, EXACT[kind][1]
    for label, term in Formulation(problem).terms().items():

        def at(point, number, term=term):
            jets = {
                name: {i: derivative(fn, i)(*point) for i in term.indices}
                for name, fn in fields.items()
            }
            lookups = {name: jet.__getitem__ for name, jet in jets.items()}
            return jnp.stack([*term.evaluate(lookups, point, number, {}).values()])

        points, numbers = map(jnp.asarray, term.sample(200, seed=0))
        assert points.shape == (200, len(names))
        found = jax.jit(jax.vmap(at))(points, numbers)
        size = scale if label == EQUATIONS else 1.0
        np.testing.assert_allclose(found, 0 * found, atol=1e-12 * size)


def test_a_wrong_equation_is_noticed():
    """The test above detects a source that is one part in a million too large."""
    problem, (fn, scale) = PeakPoisson(1000.001), EXACT[PeakPoisson]
    point = jnp.array([0.51, 0.5])
    jet = {i: derivative(fn, i)(*point) for i in [(0, 0), (2, 0), (0, 2)]}
    field = Field("u", ("x", "y"), jet.__getitem__)
    (left,) = problem.equations(field, *point).values()
    assert abs(left) > 1e-7 * scale


# Kuramoto-Sivashinsky.


def test_kuramoto_sivashinsky_error_is_confirmed_by_another_resolution():
    found = reference(KuramotoSivashinsky)
    solve = lambda num_steps: kuramoto_sivashinsky._solve(0.2, 576, num_steps)
    values = problems._spectral.extrapolate(solve, 10_000, order=4)
    other = problems._spectral.relative_difference(values, found.values["u"])
    assert found.error / 100 < other < found.error


@pytest.mark.parametrize(
    ("last", "end", "tolerance"),
    [(64, 0.04, 1e-12), (96, 0.06, 1e-12), (108, 0.08, 5e-10)],
)
def test_kuramoto_sivashinsky_against_a_general_solver(last, end, tolerance):
    """Waves up to `last`, until the front has formed."""
    num_points, wave = 3 * last, np.arange(last + 1)
    linear = 100 / 16**2 * wave**2 - 100 / 16**4 * wave**4

    def rate(t, parts):
        c = parts.view(complex)
        squares = np.fft.rfft(np.fft.irfft(c, num_points) ** 2)[: last + 1]
        return (linear * c - 0.5j * 100 / 16 * wave * squares).view(float)

    x = 2 * np.pi * np.arange(num_points) / num_points
    start = np.fft.rfft(np.cos(x) * (1 + np.sin(x)))[: last + 1]
    options = dict(method="DOP853", rtol=1e-12, atol=1e-14 * num_points)
    solved = integrate.solve_ivp(rate, (0, end), start.view(float), **options)
    final = np.ascontiguousarray(solved.y[:, -1]).view(complex)
    values = np.fft.irfft(final, 512) * 512 / num_points
    exact = reference(KuramotoSivashinsky).values["u"][round(end / 0.002), :-1]
    assert problems._spectral.relative_difference(values, exact) < tolerance


def test_kuramoto_sivashinsky_reference_solves_the_equation():
    """By `x` the Fourier series is differentiated, by `t` 13 neighbouring frames, after
    the front has formed."""
    found = reference(KuramotoSivashinsky)
    t, values = found.axes["t"], found.values["u"][:, :-1]
    offsets = np.arange(-6, 7)
    moments = np.vander(offsets * (t[1] - t[0]), increasing=True).T
    stencil = np.linalg.solve(moments, np.eye(13)[1])
    wave = 1j * np.arange(257)
    by_x = lambda row, order: np.fft.irfft(np.fft.rfft(row) * wave**order)
    for frame in (40, 70, 94):
        row = values[frame]
        jet = {(0, k): by_x(row, k) for k in (1, 2, 4)} | {(0, 0): row}
        jet[1, 0] = stencil @ values[frame + offsets]
        field = Field("u", ("t", "x"), jet.__getitem__)
        (left,) = KuramotoSivashinsky().equations(field, t[frame], None).values()
        assert np.max(np.abs(left)) < 1e-6 * np.max(np.abs(jet[1, 0]))


def test_kuramoto_sivashinsky_has_its_initial_values():
    found = reference(KuramotoSivashinsky)
    x = found.axes["x"]
    exact = np.cos(x) * (1 + np.sin(x))
    np.testing.assert_allclose(found.values["u"][0], exact, atol=1e-13)


# Conditions that hold by form.


def held_faces(problem):
    """Faces on which the form alone must give the solution: of time the first, of
    space all that are neither periodic nor in the loss, with the order of the highest
    derivative that is given there, too."""
    formulation = Formulation(problem)
    indices = formulation.terms()[EQUATIONS].indices
    soft = {(c.on, c.at) for c in formulation.conditions.values()}
    for k, name in enumerate(problem.domain.coordinates):
        lower, upper = problem.domain.bounds(name)
        if name == "t":
            yield name, lower, max(index[k] for index in indices) - 1
        elif name not in formulation.periods:
            ends = [(name, end) for end in (lower, upper)]
            yield from [(*face, 0) for face in ends if face not in soft]


@WITH_EXACT
def test_ansatz_holds_on_the_faces_for_any_network(kind):
    problem, fields = kind(), list(fields_of(kind).values())
    fn = next(c.fn for c in problem.conditions() if isinstance(c, Ansatz))
    dim = len(problem.domain.coordinates)

    def wild(k):
        """A field of the form around some function that has nothing to do with it."""

        def field(*point):
            outputs = [100 * cos(3 * sum(point) + n) for n in range(len(fields))]
            found = fn(*point, *outputs)
            return found[k] if len(fields) > 1 else found

        return field

    faces = list(held_faces(problem))
    assert faces
    for name, end, order in faces:
        points = jnp.asarray(problem.domain.sample_face(50, name, end, seed=1))
        axis = problem.domain.coordinates.index(name)
        for times in range(order + 1):
            index = tuple(times * (j == axis) for j in range(dim))
            for k, exact in enumerate(fields):
                found, true = (
                    jax.vmap(lambda point, f=f: derivative(f, index)(*point))(points)  # noqa: B023
                    for f in (wild(k), exact)
                )
                np.testing.assert_allclose(found, true, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [Advection, KuramotoSivashinsky])
def test_periodic_problems_close_on_themselves(kind):
    problem = kind()
    assert any(isinstance(c, Periodic) and c.on == "x" for c in problem.conditions())
    fn = next(c.fn for c in problem.conditions() if isinstance(c, Ansatz))
    for order in range(4):
        start = derivative(lambda t, x: fn(t, x, 0.0), (0, order))
        ends = [start(0.3, end) for end in problem.domain.bounds("x")]
        np.testing.assert_allclose(*ends, atol=1e-13)
    found = reference(kind).values["u"]
    np.testing.assert_allclose(found[:, 0], found[:, -1], atol=1e-12)


# Settings.


@pytest.mark.parametrize("kind", FOUND)
def test_nan_settings_are_refused(kind):
    for field in dataclasses.fields(kind):
        if field.type in (float, "float"):
            with pytest.raises(ValueError):
                kind(**{field.name: math.nan})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Poisson(0), "frequency.*at least 1, got 0"),
        (lambda: PeakPoisson(-1.0), "sharpness.*positive, got -1"),
        (lambda: Helmholtz(frequency_x=0), "frequency_x.*at least 1, got 0"),
        (lambda: Helmholtz(frequency_y=-4), "frequency_y.*at least 1, got -4"),
        (lambda: Helmholtz(wave_number=2.22), "near 2.22144.*not unique, got 2.22"),
        (lambda: Helmholtz(wave_number=3.51), "near 3.51241.*not unique, got 3.51"),
        (lambda: Advection(0.0), "speed.*positive, got 0"),
        (lambda: Heat(-0.1), "diffusivity.*positive, got -0.1"),
        (lambda: Wave(0.0), "speed.*positive, got 0"),
        (lambda: KleinGordon(0.0), "frequency.*positive, got 0"),
        (lambda: KuramotoSivashinsky(1.0), "end.*between 0 and 0.5, got 1"),
        (lambda: Schroedinger(amplitude=0.0), "amplitude.*positive, got 0"),
        (lambda: Schroedinger(speed=4.0), "speed.*between -3 and 3, got 4"),
    ],
)
def test_settings_out_of_range_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("problem", "fn"),
    [
        (Poisson(3), lambda x, y: sin(3 * pi * x) * sin(3 * pi * y)),
        (Helmholtz(2, 3, 2.0), lambda x, y: sin(2 * pi * x) * sin(3 * pi * y)),
        (Wave(1.0), lambda t, x: sin(pi * x) * cos(pi * t)),
    ],
)
def test_settings_reach_the_equation(problem, fn):
    term = Formulation(problem).terms()[EQUATIONS]
    for point in np.asarray(term.sample(5, seed=0)[0]):
        jet = {index: derivative(fn, index)(*point) for index in term.indices}
        found = term.evaluate(
            {"u": jet.__getitem__}, jnp.asarray(point), jnp.zeros(0), {}
        )
        assert max(abs(v) for v in found.values()) < 1e-11
