"""Means of fields: quadrature, residuals, gradients and error messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

from vrba.domains import Box, Disk, PointCloud, make_quadrature
from vrba.optim import PointTerm
from vrba.problems import Formulation, Initial, Mean, Problem

SQUARE = Box(x=(0, 2), y=(-1, 1))


def make(given, box, names=("u",)):
    """A problem whose equations do not matter."""

    class Case(Problem):
        fields = names
        domain = box

        def equations(self, *arguments):
            return {
                name: field.value for name, field in zip(names, arguments, strict=False)
            }

        def conditions(self):
            return given

    return Case()


def term_of(problem):
    """The last term of a problem, with rows of it."""
    residual = list(Formulation(problem).terms().values())[-1]
    rows = jax.tree.map(jnp.asarray, tuple(residual.sample(5, seed=1)))
    return residual, rows


def embedding(*point):
    return jnp.stack(point)


@pytest.mark.parametrize(
    "domain, names, expected",
    [
        (Box(x=(0, 3)), ["x"], np.sin(3) / 3),
        (SQUARE, ["x", "y"], np.sin(2) / 2 * np.sin(1)),
        (SQUARE, ["y"], np.sin(1)),
        (Box(x=(0, 1), y=(0, 2), z=(0, 3)), ["x", "y", "z"], None),
        (Box(t=(0, 1)) * SQUARE, ["x", "y"], np.sin(2) / 2 * np.sin(1)),
        (Box(t=(0, 1)) * SQUARE, ["t", "x", "y"], None),
    ],
)
def test_rules_on_boxes_are_exact(domain, names, expected):
    points, weights = make_quadrature(domain, names, 512)
    found = weights @ np.prod(np.cos(points), axis=1)
    if expected is None:
        ends = np.array([domain.bounds(name) for name in names])
        expected = np.prod(np.diff(np.sin(ends))[:, 0] / np.diff(ends)[:, 0])
    np.testing.assert_allclose(found, expected, rtol=2e-12)
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-14)
    assert len(points) <= 512


def test_rules_on_other_shapes_have_points_inside_and_small_errors():
    disk = Disk(2.0)
    points, weights = make_quadrature(disk * Box(t=(0, 1)), ["x", "y"], 512)
    assert disk.contains(points).all() and len(points) == 512
    np.testing.assert_allclose(weights @ points**2, 1, rtol=2e-3)
    exact = scipy.special.j1(2 * 2**0.5) / 2**0.5  # of cos(x + y)
    np.testing.assert_allclose(weights @ np.cos(points.sum(axis=1)), exact, rtol=2e-3)
    nodes, weights = make_quadrature(disk * Box(t=(0, 1)), ["t", "x", "y"], 2048)
    np.testing.assert_allclose(weights @ nodes, [0, 0, 0.5], atol=1e-3)


def test_a_small_set_of_points_is_used_as_a_whole():
    points = np.random.default_rng(0).uniform(size=(40, 2))
    found, weights = make_quadrature(PointCloud(points, ("x", "y")), ["x", "y"], 512)
    np.testing.assert_allclose(weights @ found, points.mean(axis=0), rtol=1e-12)


def test_polynomials_keep_their_means_over_many_points():
    points = np.random.default_rng(0).uniform(size=(4000, 2))
    found, weights = make_quadrature(PointCloud(points, ("x", "y")), ["x", "y"], 128)
    poly = lambda p: 1 + p[:, 0] ** 3 * p[:, 1] ** 2 - p[:, 1] ** 4
    np.testing.assert_allclose(weights @ poly(found), poly(points).mean(), rtol=1e-12)


def test_many_coordinates_have_low_discrepancy_points():
    box = Box(**{f"a{k}": (0, 1) for k in range(6)})
    points, weights = make_quadrature(box, box.coordinates, 512)
    np.testing.assert_allclose(weights @ points, 0.5, atol=1e-3)


def test_residual_of_a_known_function():
    residual, rows = term_of(make([Mean(0.25)], SQUARE))
    assert residual.num_available == len(rows[0]) == 1
    network = lambda inputs: jnp.cos(inputs[0]) * jnp.cos(inputs[1]) * jnp.ones(1)
    [found] = jax.vmap(lambda row: residual(embedding, network, row))(rows)
    expected = np.sin(2) / 2 * np.sin(1) - 0.25
    np.testing.assert_allclose(found, [expected], rtol=1e-13)


@pytest.mark.parametrize("at_each", [None, "t", ("t",)])
def test_residual_at_each_time(at_each):
    given = [Mean(lambda t: t**2, at_each=at_each, field="p")]
    residual, rows = term_of(make(given, Box(t=(0, 1), x=(0, 2)), ("u", "p")))
    assert residual.num_available is None
    network = lambda inputs: jnp.stack([inputs[0], inputs[0] * jnp.cos(inputs[1])])
    found = jax.vmap(lambda row: residual(embedding, network, row))(rows)
    t = np.asarray(rows[0])[:, :1]
    np.testing.assert_allclose(found, t * np.sin(2) / 2 - t**2, rtol=1e-12)


def test_time_is_the_coordinate_of_initial_conditions():
    box, start = Box(t=(0, 1), z=(0, 1)), Initial(0.0, on="z")
    fixed = lambda *given: Formulation(make(given, box)).conditions["mean"].fixed
    assert fixed(Mean(0.0)) == ("t",)
    assert fixed(Mean(0.0), start) == ("z",)
    assert fixed(start, Mean(0.0, at_each=())) == ()
    alone = make([Mean(0.0)], Box(t=(0, 1)))
    assert Formulation(alone).conditions["mean"].fixed == ()


@pytest.mark.parametrize("at_each", ["t", ()])
def test_jacobian_is_the_mean_of_gradients(at_each):
    box = Box(t=(0, 1), x=(0, 2))
    residual, rows = term_of(make([Mean(0.5, at_each=at_each)], box))
    params = jnp.array([0.7, -0.4, 1.3])

    def fn(params, row):
        t_part = lambda inputs: params[2] * inputs[0]
        values = lambda z: jnp.tanh(params[0] * z[1] + params[1]) + t_part(z)
        return residual(embedding, lambda z: jnp.reshape(values(z), (1,)), row)

    term = PointTerm(fn, rows)
    rows_found, jacobian = jax.jit(lambda p: term.jacobian(p, 0))(params)
    count = len(rows[0])
    nodes, weights = np.polynomial.legendre.leggauss(64)
    x, weights = nodes + 1, weights / 2
    inner = 0.7 * x - 0.4
    slope = weights / np.cosh(inner) ** 2
    t = np.asarray(rows[0])[:, 0] if at_each else np.full(count, 0.5)
    expected = np.stack([np.full(count, slope @ x), np.full(count, slope.sum()), t], 1)
    np.testing.assert_allclose(jacobian * np.sqrt(count), expected, rtol=1e-11)
    mean = weights @ np.tanh(inner) + 1.3 * t - 0.5
    np.testing.assert_allclose(rows_found * np.sqrt(count), mean, rtol=1e-11)


def messages(condition, box, names=("u",)):
    with pytest.raises(ValueError) as caught:
        Formulation(make([condition], box, names)).terms()
    return str(caught.value)


def test_errors_name_the_remedy():
    moving = Disk(1.0) - Disk(0.5)
    assert "all coordinates" in messages(Mean(0.0, at_each=("x", "y")), SQUARE)
    assert "is on `s`" in messages(Mean(0.0, at_each="s"), SQUARE)
    assert "combine two domains" in messages(Mean(0.0, at_each="x"), moving)
    assert "must name its field" in messages(Mean(0.0), SQUARE, ("u", "v"))
    wrong = Mean(lambda t, x: t, at_each="t")
    assert "does not take them" in messages(wrong, Box(t=(0, 1), x=(0, 1)))
