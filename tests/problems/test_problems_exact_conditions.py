"""Exact conditions from the plain ones: they hold for any network, or stay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.problems import (
    EQUATIONS,
    EndCondition,
    ExactAxis,
    ExactConditions,
    Formulation,
)


def wave(t, x):
    """A function that no interpolation reproduces."""
    return jnp.exp(0.3 * t) * jnp.sin(2 * x + t) + 0.2 * x


def bump(x, y):
    return jnp.cos(3 * x - y) * jnp.exp(x * y)


def partial(fn, number):
    return jax.grad(fn, argnums=number)


class AnyProblem(vrba.Problem):
    """An equation that does not matter, with given conditions."""

    listed: tuple = ()

    def conditions(self):
        return list(self.listed)


class InTime(AnyProblem):
    domain = vrba.Box(t=(0, 2), x=(-1, 1.5))

    def equations(self, u, t, x):
        return {"any": u.t - u.xx}


class Plane(AnyProblem):
    domain = vrba.Box(x=(0, 1), y=(-1, 2))

    def equations(self, u, x, y):
        return {"any": u.xx + u.yy}


class Line(AnyProblem):
    domain = vrba.Box(x=(0.5, 2))

    def equations(self, u, x):
        return {"any": u.xx + u}


class Space(AnyProblem):
    domain = vrba.Box(t=(0, 1), x=(0, 1), y=(0, 1))

    def equations(self, u, t, x, y):
        return {"any": u.t - u.xx - u.yy}


HOLE, OTHER = vrba.Disk(0.3, x=0.5, y=0.8), vrba.Disk(0.2, x=0.6, y=-0.4)


class Pierced(Plane):
    domain = Plane.domain - (HOLE | OTHER)


class Ring(Plane):
    domain = vrba.Disk(2.0) - vrba.Disk(0.5)


class Drum(Space):
    domain = vrba.Box(t=(0, 1)) * vrba.Disk(1.0)


TRIANGLE = vrba.Polygon([(-3, -3), (3, -3), (0, 3)])


class Cut(Plane):
    domain = TRIANGLE


class Joined(Plane):
    domain = vrba.Disk(1.0) | vrba.Disk(1.0, x=1.0, y=0.0)


INITIAL = vrba.Initial(lambda x: wave(0.0, x))
RATE = vrba.Initial(lambda x: partial(wave, 0)(0.0, x), order=1)
SIDES = vrba.Dirichlet(wave, on="x")
ALL = vrba.Dirichlet(bump, on=Plane.domain)
# The outward normal is along one coordinate on each face.
SLOPES = [
    vrba.Neumann(lambda x, y: -partial(bump, 0)(x, y), on="x", at=0),
    vrba.Neumann(lambda x, y: partial(bump, 0)(x, y), on="x", at=1),
    vrba.Neumann(lambda x, y: -partial(bump, 1)(x, y), on="y", at=-1),
    vrba.Neumann(lambda x, y: partial(bump, 1)(x, y), on="y", at=2),
]
HEAT = lambda t, x, y: jnp.exp(-t) * jnp.sin(x + 2 * y)


def exact_of(problem: vrba.Problem) -> ExactConditions:
    """What is found for a problem."""
    found = Formulation(problem).with_exact_conditions().exact
    assert found is not None
    return found


CASES = {
    "initial": InTime((INITIAL,)),
    "rate": InTime((INITIAL, RATE)),
    "sides": InTime((INITIAL, RATE, SIDES)),
    "one side": InTime((INITIAL, vrba.Dirichlet(wave, on="x", at=1.5))),
    "all faces": Plane((ALL,)),
    "clamped": Plane((ALL, *SLOPES)),
    "line": Line(
        (vrba.Dirichlet(1.5, on="x", at=0.5), vrba.Dirichlet(-2, on="x", at=2))
    ),
    "end of a line": Line(
        (vrba.Dirichlet(1.5, on="x", at=2), vrba.Neumann(3.0, on="x", at=2))
    ),
    "holes": Pierced(
        (
            vrba.Dirichlet(bump, on=Plane.domain),
            vrba.Dirichlet(2.0, on=HOLE | OTHER),
        )
    ),
    "ring": Ring(
        (
            vrba.Dirichlet(bump, on=vrba.Disk(2.0)),
            vrba.Dirichlet(-1.0, on=vrba.Disk(0.5)),
        )
    ),
    "disk": Ring((vrba.Dirichlet(bump, on=Ring.domain.first),)),
    "drum": Drum(
        (
            vrba.Initial(lambda x, y: HEAT(0.0, x, y)),
            vrba.Dirichlet(HEAT, on=vrba.Disk(1.0)),
        )
    ),
    "space": Space(
        (
            vrba.Initial(lambda x, y: HEAT(0.0, x, y)),
            vrba.Dirichlet(HEAT, on="x"),
            vrba.Dirichlet(HEAT, on="y"),
        )
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_condition_holds_for_any_network(name):
    """The residuals of the plain conditions vanish at points of their faces."""
    plain, exact = (
        Formulation(CASES[name]),
        Formulation(CASES[name]).with_exact_conditions(),
    )
    found = exact_of(plain.problem)
    assert not exact.conditions and found.names == tuple(plain.conditions)
    network = lambda inputs: jnp.stack([jnp.exp(jnp.sum(jnp.sin(3 * inputs)))])
    with_ansatz = Formulation(plain.problem, found)
    for label, term in plain.terms().items():
        if label == EQUATIONS:
            continue
        jets_of = lambda row, term=term: with_ansatz.jets(
            lambda *point: jnp.stack(point), network, row[0], term.indices
        )

        def residual(row, term=term, jets_of=jets_of):
            zero = jnp.zeros(())
            jets = jets_of(row)
            lookups = {n: (lambda i, j=j: j.get(i, zero)) for n, j in jets.items()}
            return jnp.stack([*term.evaluate(lookups, *row, {}).values()])

        rows = term.sample(40, seed=3)
        found = jax.vmap(residual)(tuple(map(jnp.asarray, rows)))
        np.testing.assert_allclose(found, 0, atol=2e-12)


def test_hermite_polynomials_fulfil_one_condition_each():
    places = [(0.0, 0), (0.0, 1), (0.0, 2), (3.0, 0), (3.0, 1)]
    given = tuple(EndCondition("", None, "x", end, order) for end, order in places)
    axis = ExactAxis.of("x", (0.0, 3.0), given)
    for row, coefficients in enumerate(axis.polynomials):
        polynomial = np.polynomial.Polynomial(coefficients)  # in x / 3
        values = [polynomial.deriv(k)(end / 3) / 3**k for end, k in places]
        np.testing.assert_allclose(values, np.eye(5)[row], atol=1e-12)


def test_the_factor_vanishes_like_the_conditions_and_has_maximum_one():
    given = [EndCondition("", None, "x", 1.0, order) for order in (0, 1)]
    given.append(EndCondition("", None, "x", 3.0, 0))
    axis = ExactAxis.of("x", (1.0, 3.0), tuple(given))
    x = jnp.linspace(1.0, 3.0, 3001)
    found = jax.vmap(axis.factor)(x)
    np.testing.assert_allclose(np.max(found), 1.0, rtol=1e-6)
    slope, (low, high) = jax.grad(axis.factor), jnp.array([1.0, 3.0])
    assert axis.factor(low) == slope(low) == axis.factor(high) == 0
    assert slope(high) != 0


def test_values_that_the_interpolation_contains_are_reproduced():
    """Linear in `t` and cubic between the sides: nothing is left for the network."""
    fn = lambda x, y: (1 + 2 * x) * (3 - y) + x**2
    exact = Formulation(Plane((vrba.Dirichlet(fn, on="x"), vrba.Dirichlet(fn, on="y"))))
    form = exact_of(exact.problem)
    x, y = np.random.default_rng(0).random((2, 20))
    found = jax.vmap(lambda x, y: form(x, y, 0 * x)[0])(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_allclose(found, fn(x, y), atol=1e-13)


class Mixed(AnyProblem):
    fields = ("u", "v")
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, v, t, x):
        return {"one": u.t - v.xx, "two": v.t - u.xx}


HALF = vrba.Dirichlet(0.0, on="x", where=lambda t, x: t > 0.5)
REMAINING = {
    "lone neumann": (Plane, vrba.Neumann(0.0, on="x"), "value itself is not given"),
    "robin": (Plane, vrba.Robin(0.0, on="x"), "have an exact form"),
    "where": (InTime, HALF, "it has `where`"),
    "plane": (InTime, vrba.Dirichlet(0.0, on="x", at=0.25), "not on a face"),
    "polygon": (Cut, vrba.Dirichlet(0.0, on=TRIANGLE), "only balls and boxes"),
    "inside": (Joined, vrba.Dirichlet(0.0, on=vrba.Disk(1.0)), "not on the boundary"),
    "slope on a shape": (Pierced, vrba.Neumann(0.0, on=HOLE), "have an exact form"),
    "data": (Line, vrba.Data([[1.0]], [0.0]), "have an exact form"),
    "weight": (
        Plane,
        vrba.Dirichlet(0.0, on="x", penalty=vrba.Penalty(weight=3.0)),
        "`Penalty` of its own",
    ),
}


@pytest.mark.parametrize("name", REMAINING)
def test_conditions_without_an_exact_form_stay_penalties(name):
    kind, condition, why = REMAINING[name]
    plain = Formulation(kind((condition,)))
    found = plain.with_exact_conditions()
    assert list(found.conditions) == list(plain.conditions) and found.ansatz is None
    assert why in exact_of(found.problem).sentence()
    assert exact_of(found.problem).sentence().startswith("Exact conditions: none. `")


def test_one_field_may_be_exact_and_another_not():
    """The values of `v` differ at a corner, those of `u` do not."""
    listed = (
        vrba.Initial(lambda x: x * (1 - x), field="u"),
        vrba.Dirichlet(0.0, on="x", field="u"),
        vrba.Initial(1.0, field="v"),
        vrba.Dirichlet(0.0, on="x", field="v"),
    )
    found = Formulation(Mixed(listed)).with_exact_conditions()
    assert exact_of(found.problem).names == ("initial of u", "dirichlet x of u")
    assert list(found.conditions) == ["initial of v", "dirichlet x of v"]
    assert "differ by 1.0e+00 where they meet" in exact_of(found.problem).sentence()
    u, v = exact_of(found.problem)(*jnp.array([0.3, 0.0, 7.0, 5.0]))
    assert (u, v) == (0, 5)


def test_a_repeated_condition_stays():
    found = Formulation(
        Line((vrba.Dirichlet(1.0, on="x"),) * 2)
    ).with_exact_conditions()
    assert exact_of(found.problem).names == ("dirichlet x",)
    assert "repeats `dirichlet x`" in exact_of(found.problem).reasons["dirichlet x 2"]


def test_values_with_a_singular_residual_stay():
    root = vrba.Initial(lambda x: jnp.sqrt(jnp.abs(x - 0.1) + 1e-12))
    found = Formulation(InTime((root,))).with_exact_conditions()
    assert (
        not exact_of(found.problem).names
        and "singular" in exact_of(found.problem).sentence()
    )


def test_an_ansatz_and_a_period_win():
    ansatz = vrba.Ansatz(lambda t, x, N: t * N)
    plain = Formulation(InTime((ansatz, SIDES)))
    assert plain.with_exact_conditions() is plain
    wave = vrba.Initial(lambda x: jnp.cos(0.8 * np.pi * x))  # of period 2.5
    periodic = InTime((vrba.Periodic("x"), wave))
    found = Formulation(periodic).with_exact_conditions()
    assert exact_of(found.problem).names == ("initial",) and found.periods == {"x": 1}


def test_values_that_differ_where_shapes_meet_initial_values_stay():
    flat = vrba.Initial(lambda x, y: 2 - x**2 - y**2)
    found = Formulation(Drum((flat, vrba.Dirichlet(0.0, on=vrba.Disk(1.0)))))
    found = found.with_exact_conditions()
    assert (
        not exact_of(found.problem).names
        and "where they meet" in exact_of(found.problem).sentence()
    )


def test_the_joint_distance_has_maximum_one_and_vanishes_on_shapes():
    form = exact_of(CASES["holes"])
    domain = Pierced.domain
    factor = jax.vmap(lambda p: form(*p, 1.0 + 0 * p[0])[0] - form(*p, 0 * p[0])[0])
    inside = factor(jnp.asarray(domain.sample(2000, seed=1)))
    assert jnp.min(inside) > 0 and 0.8 < jnp.max(inside) < 1.2
    for shape in (HOLE, OTHER, Plane.domain):
        points, _ = domain.boundary(50, seed=2, on=shape)
        np.testing.assert_allclose(factor(jnp.asarray(points)), 0, atol=1e-12)
