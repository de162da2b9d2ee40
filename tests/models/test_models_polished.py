"""A polished network: its tangent, its features, and derivatives of all of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.core import flatten
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.models import Polished, linear_parts, polish

NUM_INPUTS, NUM_OUTPUTS = 2, 3
POINT = jnp.array([0.3, -0.7])


class Plain(eqx.Module):
    """A model without layers that others can read."""

    matrix: jax.Array

    def __call__(self, inputs):
        return jnp.sin(self.matrix @ inputs) * jnp.exp(inputs[0])


def networks():
    key = jax.random.key(0)
    mlp = vrba.MLP(width=7, depth=2)
    built = mlp.build(NUM_INPUTS, NUM_OUTPUTS, key=key, dtype=jnp.float64)
    return {"MLP": built, "plain": Plain(jax.random.normal(key, (NUM_OUTPUTS, 2)))}


NETWORKS = networks()


def polished(name, **options):
    options = {"dtype": jnp.float64, "key": jax.random.key(1)} | options
    return polish(NETWORKS[name], NUM_INPUTS, NUM_OUTPUTS, (5, 4), **options)


def with_random_coefficients(model):
    linear, rest = eqx.partition(model, linear_parts(model))
    vector, rebuild = flatten(linear)
    values = 0.1 * jax.random.normal(jax.random.key(2), vector.shape)
    return eqx.combine(rebuild(values), rest)


@pytest.mark.parametrize("name", NETWORKS)
def test_it_starts_as_the_trained_network(name):
    expected = NETWORKS[name](POINT)
    np.testing.assert_array_equal(polished(name)(POINT), expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_linear_in_its_coefficients(name):
    model = with_random_coefficients(polished(name))
    linear, rest = eqx.partition(model, linear_parts(model))
    at = lambda scale: eqx.combine(jax.tree.map(lambda x: scale * x, linear), rest)
    base, once, twice = (at(scale)(POINT) for scale in (0.0, 1.0, 2.0))
    np.testing.assert_allclose(twice - base, 2 * (once - base), rtol=1e-12)
    assert np.all(np.abs(once - base) > 1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_correction_is_the_derivative_along_it(name):
    model = with_random_coefficients(polished(name))
    without = [
        eqx.tree_at(lambda f: f.coefficients, each, 0 * each.coefficients)
        for each in model.features
    ]
    model = Polished(model.correction, None, without, model.base)
    params, fixed = eqx.partition(NETWORKS[name], eqx.is_inexact_array)
    fn = lambda params: eqx.combine(params, fixed)(POINT)
    value, tangent = jax.jvp(fn, (params,), (model.correction,))
    np.testing.assert_allclose(model(POINT), value + tangent, rtol=1e-12)


def test_features_are_those_of_every_layer():
    """Against a forward pass written out with NumPy."""
    model = with_random_coefficients(polished("MLP", has_tangent=False))
    base = model.base
    layers = [np.asarray(POINT)]
    for weight, bias in zip(base.weights[:-1], base.biases[:-1], strict=True):
        layers.append(np.tanh(weight @ layers[-1] + bias))
    expected = base.weights[-1] @ layers[-1] + base.biases[-1]
    for batch in model.features:
        parts = zip(batch.directions, batch.offsets, layers, strict=True)
        values = np.concatenate([np.tanh(a @ h + b) for a, b, h in parts])
        expected = expected + batch.coefficients @ values
    assert model.correction is None
    np.testing.assert_allclose(model(POINT), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_derivatives_agree_with_jax(name):
    model = with_random_coefficients(polished(name))
    indices = downward_closure([(0, 3), (1, 1), (2, 0)])
    fn = lambda x, y: model(jnp.stack([x, y]))
    stack = lambda x, y: jnp.stack([x, y])
    jets = coordinate_jets(POINT, 2)
    inputs = propagate(stack, jets, indices)
    found = propagate(model, [inputs], indices)
    for index in indices:
        expected = fn
        for axis, count in enumerate(index):
            for _ in range(count):
                expected = jax.jacfwd(expected, argnums=axis)
        np.testing.assert_allclose(found[index], expected(*POINT), rtol=1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_known_functions_are_added_to_the_network(name):
    """The last inputs enter linearly; all else sees only the inputs before them."""
    model = with_random_coefficients(polished(name, num_singular=2))
    rest = Polished(model.correction, None, model.features, model.base)
    known = jnp.array([0.4, -1.5])
    inputs = jnp.concatenate([POINT, known])
    expected = rest(POINT) + model.singular @ known
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-12)
    jacobian = jax.jacfwd(model)(inputs)
    before = jax.jacfwd(rest)(POINT)
    np.testing.assert_allclose(jacobian[:, :2], before, rtol=1e-12)
    np.testing.assert_allclose(jacobian[:, 2:], model.singular, rtol=1e-12)


def test_growing_keeps_the_features_that_there_are():
    first = polish(
        NETWORKS["MLP"], 2, 3, (5,), dtype=jnp.float64, key=jax.random.key(1)
    )
    second = polished("MLP")
    same = jax.tree.map(np.array_equal, first.features[0], second.features[0])
    assert all(jax.tree.leaves(same))
