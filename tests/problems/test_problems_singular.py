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


def evaluate(fn, points):
    """Without a compiled program, which each function would need for itself."""
    return jax.vmap(lambda p: fn(p[0], p[1]))(jnp.asarray(points))


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


def block(x, y):
    """The polygon between two intervals."""
    return vrba.Polygon([(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])])


SQUARE, HOLE = block((-1, 1), (-1, 1)), block((-0.5, 0.3), (-0.4, 0.4))
PIERCED = SQUARE - HOLE
NARROW = vrba.Polygon(
    [(0, 0), (4, 0), (4, 3), (2.5, 3), (2.5, 1), (2, 1), (2, 3), (0, 3)]
)


def along(singular, distance, angle):
    """Points at a distance from the corner, at angles from its first edge."""
    angle = np.asarray(angle) + singular.start
    return singular.at + distance * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def test_each_convex_corner_of_a_polygonal_hole_has_functions():
    found = corner_functions(PIERCED)
    places = [each.at for each in found]
    assert set(places) == set(HOLE.vertices)
    plain = functions_of_opening(1.5 * math.pi)
    for place in HOLE.vertices:
        own = [each for each in found if each.at == place]
        powers = [each.function.exponent for each in own]
        np.testing.assert_allclose(powers, [fn.exponent for fn in plain])
        np.testing.assert_allclose([each.opening for each in own], 1.5 * math.pi)
    triangle = vrba.Polygon([(0, 0), (0.5, 0), (0, 0.5)])
    found = {each.at: each.opening for each in corner_functions(SQUARE - triangle)}
    expected = {(0, 0): 1.5 * math.pi, (0.5, 0): 1.75 * math.pi}
    assert found == pytest.approx(expected | {(0, 0.5): 1.75 * math.pi})


def test_only_corners_of_the_domain_with_an_opening_above_pi_have_functions():
    places = lambda shape: {each.at for each in corner_functions(shape)}
    dart = vrba.Polygon([(0, 0), (0.6, 0), (0.2, 0.2), (0, 0.6)])
    assert places(SQUARE - dart) == set(dart.vertices) - {(0.2, 0.2)}
    for first in (SQUARE, vrba.Box(x=(-1, 1), y=(-1, 1)), vrba.Disk(0.9)):
        assert places(first - HOLE) == set(HOLE.vertices)
    without = PIERCED - vrba.Disk(0.1, x=0.3, y=0.4)
    assert places(without) == set(HOLE.vertices) - {(0.3, 0.4)}
    other = block((0.6, 0.8), (0.0, 0.2))
    assert places(PIERCED - other) == {*HOLE.vertices, *other.vertices}
    notch = block((0, 2), (0.5, 0.7))  # two of its corners are outside the square
    assert places(SQUARE - notch) == {(0, 0.5), (0, 0.7)}


@pytest.mark.parametrize("end", [1, 2])
def test_a_removed_quadrant_gives_the_functions_of_the_l_shape(end):
    """Also if the boundaries of both polygons coincide in part."""
    found = corner_functions(SQUARE - block((0, end), (-end, 0)))
    assert found == corner_functions(L_SHAPE)


def test_functions_of_a_hole_are_harmonic_near_it():
    for singular in corner_functions(PIERCED)[:5]:
        inner = np.linspace(0.01, 0.99, 9) * singular.opening
        near = along(singular, 0.49 * singular.radius, inner)
        found = derivatives(singular, jnp.asarray(near))
        np.testing.assert_allclose(found[2, 0] + found[0, 2], 0, atol=1e-10)


def test_functions_of_a_hole_vanish_on_its_edges():
    for singular in corner_functions(PIERCED):
        assert PIERCED.contains(along(singular, 0.1, np.linspace(0.1, 4.6, 9))).all()
        edges = along(singular, 0.49 * singular.radius, [0, singular.opening])
        np.testing.assert_allclose(HOLE.depth(edges), 0, atol=1e-14)
        if not singular.function.has_logarithm:
            np.testing.assert_allclose(evaluate(singular, edges), 0, atol=1e-14)


def test_functions_of_a_hole_vanish_beyond_the_nearest_other_edge():
    """Of the hole, whose edges are 0.8 long, or of the square around it."""
    radii = {each.at: each.radius for each in corner_functions(PIERCED)}
    expected = {(-0.5, -0.4): 0.5, (-0.5, 0.4): 0.5, (0.3, -0.4): 0.6, (0.3, 0.4): 0.6}
    assert radii == pytest.approx(expected)
    wide = corner_functions(block((-3, 3), (-3, 3)) - HOLE)
    np.testing.assert_allclose([each.radius for each in wide], 0.8)
    for singular in corner_functions(PIERCED):
        far = along(singular, 1.001 * singular.radius, np.linspace(0, 6.28, 9))
        np.testing.assert_array_equal(evaluate(singular, far), 0)


@pytest.mark.parametrize(
    ("shape", "radii"),
    [
        (L_SHAPE, {None}),
        (NARROW, {0.5}),
        (PIERCED, None),
        (vrba.Box(x=(-1, 1), y=(-1, 1)) - HOLE, None),
        (L_SHAPE - vrba.Polygon([(-0.6, 0.2), (-0.2, 0.3), (-0.3, 0.7)]), None),
    ],
    ids=["l", "narrow", "pierced", "box", "two"],
)
def test_functions_are_continuous_inside(shape, radii):
    """Where the jump of the angle meets the domain again, they are cut off."""
    found = corner_functions(shape)
    assert radii is None or {each.radius for each in found} == radii
    points = shape.sample(1024, seed=0)
    moved = points + 1e-6 * np.random.default_rng(0).standard_normal(points.shape)
    distances = np.linspace(0.01, 5, 500)[:, None]
    for singular in found:
        jump = singular.opening / 2 + math.pi
        sides = [along(singular, distances, jump + turn) for turn in (-1e-7, 1e-7)]
        first, second = np.concatenate([[points, moved], sides], axis=1)
        kept = shape.contains(first) & shape.contains(second)
        change = evaluate(singular, first) - evaluate(singular, second)
        assert np.max(np.abs(change)[kept]) < 1e-2


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
