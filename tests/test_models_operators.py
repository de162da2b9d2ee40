"""Operators: conformance of all of them, then what each is known for."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rooms import concrete

from vrba.models import (
    MLP,
    AbstractOperatorArchitecture,
    ComplexArray,
    DeepONet,
    count_params,
)
from vrba.models._draw import draw_all

KEY = jax.random.key(7)
GRID = (8, 8)
SMALL = {
    "DeepONet": {"branch": MLP(6, 1), "trunk": MLP(6, 1), "latent": 5},
}
OPERATORS = {
    cls.__name__: cls for cls in concrete("vrba.models", AbstractOperatorArchitecture)
}
EACH = pytest.mark.parametrize("name", sorted(OPERATORS))


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@jax.jit
def call(model, *arguments):
    return model(*arguments)


@jax.jit
def call_each(model, functions, places):
    return jax.vmap(model)(functions, places)


def places_on(*grid, time=None):
    """Coordinates between 0 and 1; with a time, that one first."""
    axes = np.meshgrid(*(np.arange(count) / count for count in grid), indexing="ij")
    axes = axes if time is None else [np.full(grid, time), *axes]
    return np.stack(axes, axis=-1)


@cache
def small(name, dtype="float64"):
    """One sample has two channels on a small grid, and gives two."""
    made = OPERATORS[name](**SMALL.get(name, {}))
    return made.build((*GRID, 2), (*GRID, 2), 3, key=KEY, dtype=jnp.dtype(dtype))


@cache
def program(name):
    """Loss and gradient for functions at places that they share, and its traces."""
    traces = []

    @jax.jit
    def run(model, functions, places, wanted):
        traces.append(name)

        def loss(model):
            values = jax.vmap(model, in_axes=(0, None))(functions, places)
            return jnp.mean((values - wanted) ** 2), values

        return jax.value_and_grad(loss, has_aux=True)(model)

    return run, traces


DATA = numbers(3, *GRID, 2), places_on(*GRID, time=0.3), numbers(3, *GRID, 2, seed=1)


# All operators.


@EACH
def test_shared_places_are_places_of_each_function(name):
    functions, places, wanted = DATA
    (_, shared), _ = program(name)[0](small(name), *DATA)
    own = np.broadcast_to(places, (3, *places.shape))
    each = call_each(small(name), functions, own)
    assert shared.shape == wanted.shape and shared.dtype == jnp.float64
    np.testing.assert_allclose(shared, each, rtol=1e-10, atol=1e-12)
    assert np.all(np.ptp(shared, axis=0) > 0)


def moved(model, step, *, by):
    return jax.tree.map(lambda x, d: np.asarray(x) + by * np.asarray(d), model, step)


@EACH
def test_gradients_point_uphill(name):
    """Along a random direction the loss changes as they say, and down against them."""
    run, traces = program(name)
    model = small(name)
    (loss, _), gradient = run(model, *DATA)
    assert all(np.max(np.abs(slope)) > 0 for slope in jax.tree.leaves(gradient))
    assert jax.tree.structure(gradient) == jax.tree.structure(model)
    random = np.random.default_rng(4)
    way = jax.tree.map(lambda x: random.normal(size=x.shape) / x.size**0.5, model)
    ahead, back = (run(moved(model, way, by=by), *DATA)[0][0] for by in (1e-5, -1e-5))
    products = jax.tree.map(lambda g, d: np.sum(np.asarray(g) * d), gradient, way)
    expected = sum(jax.tree.leaves(products))
    np.testing.assert_allclose((ahead - back) / 2e-5, expected, rtol=1e-5)
    square = sum(np.sum(np.asarray(g) ** 2) for g in jax.tree.leaves(gradient))
    (lower, _), _ = run(moved(model, gradient, by=-1e-3 * loss / square), *DATA)
    np.testing.assert_allclose(lower, 0.999 * loss, rtol=1e-4)
    assert len(traces) == 1


def ravel(tree):
    """All arrays as one, and the way back."""
    leaves, treedef = jax.tree.flatten(tree)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def rebuild(vector):
        parts = zip(np.split(vector, ends), leaves, strict=True)
        return treedef.unflatten([part.reshape(leaf.shape) for part, leaf in parts])

    return np.concatenate([np.ravel(leaf) for leaf in leaves]), rebuild


@EACH
def test_float32_stays_float32(name):
    model = small(name, "float32")
    function, places = DATA[0][0].astype(np.float32), DATA[1].astype(np.float32)
    values = jax.eval_shape(call, model, function, places)
    kinds = {leaf.dtype for leaf in jax.tree.leaves([model, values])}
    assert kinds == {np.dtype("float32")}


@EACH
def test_a_key_decides_all_parameters(name):
    made = OPERATORS[name](**SMALL.get(name, {}))
    build = lambda key: made.build(
        (*GRID, 2), (*GRID, 2), 3, key=key, dtype=jnp.float64
    )
    vectors = [ravel(model)[0] for model in (small(name), build(KEY))]
    np.testing.assert_array_equal(*vectors)
    other = ravel(build(jax.random.key(8)))[0]
    assert np.std(vectors[0] - other) > 0.5 * np.std(other)
    shapes = jax.eval_shape(build, KEY)
    assert jax.tree.structure(shapes) == jax.tree.structure(small(name))
    assert count_params(shapes, complex_as=2) == other.size


@EACH
@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((8,), (8, 8, 1), 3), r"`in_shape` .* got \(8,\)"),
        (((8, 8, 1), (8, 0, 1), 3), r"`out_shape` .* got \(8, 0, 1\)"),
        (((8, 8, 1), (8, 8, 1), 0), "`dim` must be at least 1, got 0"),
    ],
)
def test_shapes_without_sense_are_refused(name, shapes, words):
    made = OPERATORS[name](**SMALL.get(name, {}))
    with pytest.raises(ValueError, match=words):
        made.build(*shapes, key=KEY, dtype=jnp.float64)


# Sizes.


@pytest.mark.parametrize(
    ("architecture", "shapes", "count", "reals"),
    [
        (DeepONet(), ((200, 1), (500, 1), 1), 101_100, 101_100),
    ],
    ids=["DeepONet"],
)
def test_networks_of_the_paper_have_its_number_of_parameters(
    architecture, shapes, count, reals
):
    """Toscano et al. (2025), counted in their scripts."""
    build = lambda key: architecture.build(*shapes, key=key, dtype=jnp.float32)
    model = jax.eval_shape(build, KEY)
    assert count_params(model) == count
    assert count_params(model, complex_as=2) == reals


def test_only_floating_arrays_are_counted():
    pair = ComplexArray(jnp.ones((2, 3)), jnp.ones((2, 3)))
    model = [pair, np.ones(4, complex), jnp.ones(5), np.arange(9), jnp.tanh, 1.0]
    assert count_params(model) == 15 and count_params(model, complex_as=2) == 25
    with pytest.raises(ValueError, match="`complex_as` must be 1 or 2, got 3"):
        count_params(model, complex_as=3)


def test_drawn_numbers_have_their_mean_and_deviation():
    make = lambda draw: [draw((100, 50), 0.2), draw((7,), 0.0, 1.0), draw((5000,), 3.0)]
    one, two, three = draw_all(make, key=KEY, dtype=jnp.float32)
    np.testing.assert_allclose([jnp.std(one), jnp.std(three)], [0.2, 3], rtol=0.03)
    np.testing.assert_array_equal(two, np.ones(7, np.float32))
    assert abs(np.corrcoef(np.ravel(one), three)[0, 1]) < 0.05
    assert {x.dtype for x in (one, two, three)} == {np.dtype("float32")}
    traced = jax.jit(lambda key: draw_all(make, key=key, dtype=jnp.float32))(KEY)
    for found, expected in zip(traced, (one, two, three), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# DeepONet.


def test_deeponet_is_a_sum_of_products():
    model, function = small("DeepONet"), numbers(*GRID, 2)
    places = numbers(7, 3, seed=3)
    values = call(model, function, places)
    factors = np.asarray(call(model.branch, function.ravel())).reshape(2, 5)
    basis = np.stack([call(model.trunk, place) for place in places])
    for channel, part in enumerate(np.split(basis, 2, axis=1)):
        np.testing.assert_allclose(values[:, channel], part @ factors[channel])


def test_the_trunk_meets_shared_places_once():
    functions, places, _ = DATA
    mapped = jax.vmap(small("DeepONet"), in_axes=(0, None))
    equations = jax.make_jaxpr(mapped)(functions, places).eqns
    sizes = {eq.outvars[0].aval.size for eq in equations if eq.primitive.name == "tanh"}
    assert sizes == {3 * 6, 64 * 6}


@pytest.mark.usefixtures("as_a_user")
def test_deeponet_refuses_other_sensors():
    with pytest.raises(ValueError, match=r"`function` .* \(8, 8, 2\) .* \(9, 8, 2\)"):
        small("DeepONet")(numbers(9, 8, 2), numbers(4, 3))
    with pytest.raises(ValueError, match="`latent` must be at least 1, got 0"):
        DeepONet(latent=0)
