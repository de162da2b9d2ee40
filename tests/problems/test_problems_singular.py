"""Singular functions: their derivatives, the corners of polygons, what is refused."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba import InputError, Singular
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.problems import (
    CornerFunction,
    Formulation,
    corner_functions,
    functions_of_opening,
)

SECOND = downward_closure([(2, 0), (1, 1), (0, 2)])
L_SHAPE = vrba.Polygon([(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)])
U_SHAPE = vrba.Polygon(
    [(0, 0), (3, 0), (3, 2), (1.8, 2), (1.8, 1), (1, 1), (1, 2), (0, 2)]
)


@functools.partial(jax.jit, static_argnums=0)
def derivatives(fn, points):
    return jax.vmap(lambda p: propagate(fn, coordinate_jets(p, 2), SECOND))(points)


def inside(num_points, radius):
    angle = np.linspace(0.01, 1.49 * math.pi, num_points)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1), angle


@pytest.mark.parametrize("radius", [1.0, 1e-4, 1e-10])
@pytest.mark.parametrize("exponent", [2 / 3, 4 / 3, 1 / 2])
def test_derivatives_are_those_of_a_power_of_z(radius, exponent):
    """`r^a sin(a phi)` is the imaginary part of `z^a`, also very near the corner."""
    singular = Singular(CornerFunction(exponent), (0, 0), opening=1.5 * math.pi)
    points, angle = inside(7, radius)
    found = derivatives(singular, jnp.asarray(points))

    def power(order):
        factor = math.prod(exponent - k for k in range(order))
        turned = np.exp(1j * (exponent - order) * angle)
        return factor * radius ** (exponent - order) * turned

    expected = {
        (0, 0): power(0).imag,
        (1, 0): power(1).imag,
        (0, 1): power(1).real,
        (2, 0): power(2).imag,
        (1, 1): power(2).real,
        (0, 2): -power(2).imag,
    }
    for index, values in expected.items():
        size = np.max(np.abs(power(sum(index))))
        np.testing.assert_allclose(found[index], values, atol=1e-11 * size)


def test_the_function_with_a_logarithm_is_harmonic():
    """It is the imaginary part of `z^2 log z`."""
    singular = Singular(CornerFunction(2, True), (0, 0), opening=1.5 * math.pi)
    points, angle = inside(9, 0.3)
    found = derivatives(singular, jnp.asarray(points))
    z = 0.3 * np.exp(1j * angle)
    expected = (z**2 * (math.log(0.3) + 1j * angle)).imag
    np.testing.assert_allclose(found[0, 0], expected, atol=1e-14)
    np.testing.assert_allclose(found[2, 0] + found[0, 2], 0, atol=1e-12)


def test_place_and_direction():
    """The function follows the corner when it is moved and turned."""
    turn = 0.7
    function = CornerFunction(2 / 3)
    plain = Singular(function, (0, 0), opening=1.5 * math.pi)
    moved = Singular(function, (2, -1), start=turn, opening=1.5 * math.pi)
    points, angle = inside(7, 0.5)
    turned = 0.5 * np.stack([np.cos(angle + turn), np.sin(angle + turn)], axis=1)
    np.testing.assert_allclose(
        derivatives(moved, jnp.asarray(turned + [2, -1]))[0, 0],
        derivatives(plain, jnp.asarray(points))[0, 0],
        rtol=1e-13,
    )


def test_everything_is_finite_at_the_corner():
    """Value and derivatives are zero there, and finite at any other number."""
    for singular in corner_functions(L_SHAPE):
        points = jnp.asarray([[0.0, 0.0], [1e-300, 0.0], [1e-30, 1e-31], [1e-20, 0.0]])
        found = derivatives(singular, points)
        for values in found.values():
            assert values[0] == 0 and np.all(np.isfinite(values))


def test_a_radius_cuts_a_function_off_smoothly():
    full = Singular(CornerFunction(2 / 3), (0, 0))
    cut = Singular(CornerFunction(2 / 3), (0, 0), radius=0.8)
    near, _ = inside(5, 0.39)
    far, _ = inside(5, 0.81)
    for points, factor in ((near, 1), (far, 0)):
        expected = derivatives(full, jnp.asarray(points))
        for index, values in derivatives(cut, jnp.asarray(points)).items():
            np.testing.assert_allclose(values, factor * expected[index], rtol=1e-12)
    for end in (0.4, 0.8):
        two = [inside(5, end * (1 + side * 1e-7))[0] for side in (-1, 1)]
        one, other = (derivatives(cut, jnp.asarray(points)) for points in two)
        for index in SECOND:
            np.testing.assert_allclose(one[index], other[index], atol=1e-5)


# Corners.


def test_functions_of_a_corner_vanish_on_its_edges():
    """Exponents `k pi / opening` below 4; integers have a logarithm."""
    found = functions_of_opening(1.5 * math.pi)
    np.testing.assert_allclose([f.exponent for f in found], np.arange(1, 6) * 2 / 3)
    assert [f.has_logarithm for f in found] == [False, False, True, False, False]
    for singular in corner_functions(L_SHAPE):
        if not singular.function.has_logarithm:
            edges = jnp.asarray([[0.3, 0.0], [0.9, 0.0], [0.0, -0.2], [0.0, -1.0]])
            values = jax.vmap(lambda p, fn=singular: fn(p[0], p[1]))(edges)
            np.testing.assert_allclose(values, 0, atol=1e-14)


def test_only_re_entrant_corners_of_polygons_have_functions():
    places = lambda shape: {each.at for each in corner_functions(shape)}
    assert places(L_SHAPE) == {(0.0, 0.0)}
    assert places(U_SHAPE) == {(1.8, 1.0), (1.0, 1.0)}
    assert places(vrba.Polygon([(0, 0), (1, 0), (0, 1)])) == set()
    pierced = L_SHAPE - vrba.Disk(0.2, x=-0.5, y=0.5)
    assert places(pierced) == {(0.0, 0.0)}
    assert places(L_SHAPE - vrba.Disk(0.2)) == set()  # the disk removes the corner
    straight = [(0, 0), (1, 0), (2, 0), (0, 2)]  # a corner of the angle pi
    assert places(vrba.Polygon(straight)) == set()
    assert places(vrba.Box(x=(0, 1), y=(0, 1))) == set()


def test_functions_are_continuous_inside():
    """Where the jump of the angle meets the polygon again, they are cut off."""
    narrow = vrba.Polygon(
        [(0, 0), (4, 0), (4, 3), (2.5, 3), (2.5, 1), (2, 1), (2, 3), (0, 3)]
    )
    assert all(each.radius is None for each in corner_functions(L_SHAPE))
    found = corner_functions(narrow)
    assert {each.radius for each in found} == {0.5}
    generator = np.random.default_rng(0)
    points = narrow.sample(4096, seed=0)
    direction = generator.standard_normal(points.shape)
    near = points + 1e-6 * direction
    kept = narrow.contains(near)
    for singular in found:
        fn = jax.jit(jax.vmap(lambda p, fn=singular: fn(p[0], p[1])))
        gap = np.abs(fn(jnp.asarray(points)) - fn(jnp.asarray(near)))[kept]
        assert np.max(gap) < 1e-2


# In a problem.


def corner_ansatz(x, y, N):
    return x * y * N


def problem_with(*conditions, shape=L_SHAPE):
    class Case(vrba.Problem):
        domain = shape

        def equations(self, u, x, y):
            return {"load": u.xx + u.yy + 1}

        def conditions(self):
            return list(conditions)

    return Case()


def test_a_problem_lists_them_or_has_those_of_its_corners():
    own = Singular(lambda r, phi: jnp.sqrt(r), (1, 1))
    edge = vrba.Dirichlet(0.0, on=L_SHAPE)
    found = lambda *conditions: Formulation(problem_with(*conditions)).singular
    assert found(edge) == corner_functions(L_SHAPE)
    assert found(edge, own) == (own,)
    assert found(vrba.Ansatz(corner_ansatz)) == ()
    assert found(vrba.Ansatz(corner_ansatz), own) == (own,)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Singular(jnp.sqrt, (0, math.nan)), "finite coordinates of a point"),
        (lambda: Singular(jnp.sqrt, (0, 0), opening=7.0), "between 0 and 2 pi, got 7"),
        (lambda: Singular(jnp.sqrt, (0, 0), radius=0.0), "`radius` must be positive"),
        (
            lambda: Formulation(
                problem_with(
                    vrba.Ansatz(corner_ansatz),
                    Singular(jnp.sqrt, (0, 0), on=("x", "t")),
                )
            ),
            r"those of the domain are x, y. Name two",
        ),
        (
            lambda: Formulation(problem_with(Singular(jnp.sqrt, (0, 0)))),
            "no initial or boundary condition",
        ),
    ],
)
def test_wrong_functions_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()
