"""The multi-layer perceptron: initial weights, activations, derivatives."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.fields.cases import PLACE, QUICK, nested, operations
from tests.rooms import concrete
from vrba.fields import coordinate_jets, downward_closure, propagate
from vrba.models import MLP, AbstractActivation, FanIn, Network, Tanh

ACTIVATIONS = {
    cls.__name__: cls() for cls in concrete("vrba.models", AbstractActivation)
}
EACH_ACTIVATION = pytest.mark.parametrize("name", sorted(ACTIVATIONS))
FIFTH = downward_closure([(4, 1)])


def some_network(activation, dtype=float):
    """Return a network of two hidden layers with random weights and biases."""
    random, sizes = np.random.default_rng(5), [(5, 2), (5, 5), (2, 5)]
    weights = [jnp.asarray(random.normal(0, 0.5, shape), dtype) for shape in sizes]
    biases = [jnp.asarray(random.normal(0, 0.5, rows), dtype) for rows, _ in sizes]
    return Network(weights, biases, activation)


def test_a_built_network_has_glorot_weights(keys):
    build = lambda key: MLP(width=200, depth=1).build(2, 1, key=key, dtype=jnp.float32)
    network = jax.jit(build, compiler_options=QUICK)(next(keys))
    assert [w.shape for w in network.weights] == [(200, 2), (1, 200)]
    assert {w.dtype for w in network.weights} == {np.dtype("float32")}
    for weight, bias in zip(network.weights, network.biases, strict=True):
        assert bias.dtype == jnp.float32 and not bias.any()
        expected = np.sqrt(2 / sum(weight.shape))
        np.testing.assert_allclose(jnp.std(weight), expected, rtol=0.15)


def test_fan_in_weights_are_uniform_within_their_bound(keys):
    weight, bias = FanIn().draw_layer(4, 5000, key=next(keys), dtype=jnp.float32)
    assert weight.shape == (5000, 4) and weight.dtype == bias.dtype == jnp.float32
    for found in (weight, bias):
        assert 0.49 < jnp.max(jnp.abs(found)) <= 0.5
        np.testing.assert_allclose(jnp.var(found), 0.5**2 / 3, rtol=0.05)
    assert abs(np.corrcoef(weight[:, 0], bias)[0, 1]) < 0.05


@EACH_ACTIVATION
def test_network_propagates_as_the_general_rule_does(name):
    network = some_network(ACTIVATIONS[name])
    weights, point = network.weights, jnp.array([0.4, -0.3])

    def plain(p):
        for layer, (weight, bias) in enumerate(
            zip(weights, network.biases, strict=True)
        ):
            p = weight @ (ACTIVATIONS[name](p) if layer else p) + bias
        return p

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        zero, *units = [(0, 0), (1, 0), (0, 1)]
        inputs = {zero: point} | dict(zip(units, jnp.eye(2), strict=True))
        return [propagate(fn, [inputs], FIFTH) for fn in (network, plain)]

    fast, written = run(point)
    assert set(fast) == FIFTH
    for index in FIFTH:
        np.testing.assert_allclose(fast[index], written[index], 1e-12, 1e-12)
    np.testing.assert_allclose(network(point), fast[0, 0], rtol=1e-14)


@EACH_ACTIVATION
def test_activations_have_the_right_derivatives(name):
    """Compare each with finite differences, of fourth order, of the one before."""
    step, places = 1e-3, np.array([-1.3, 0.0, 0.2, 2.5])
    shifts = step * np.array([-2, -1, 0, 1, 2])
    values = jnp.asarray(places + shifts[:, None])
    run = jax.jit(
        lambda order: ACTIVATIONS[name].derivatives(values, order), static_argnums=0
    )
    derivatives = np.asarray(run(5))
    weights = np.array([1, -8, 0, 8, -1]) / (12 * step)
    numeric = np.einsum("s,ksp->kp", weights, derivatives)
    np.testing.assert_allclose(derivatives[1:, 2], numeric[:-1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ACTIVATIONS[name](values), derivatives[0], rtol=1e-15)
    for order in range(5):
        fewer = np.asarray(run(order))
        np.testing.assert_allclose(
            fewer, derivatives[: order + 1], rtol=1e-12, atol=1e-13
        )


def test_a_network_computes_only_what_is_requested():
    network, point = some_network(Tanh()), jnp.asarray(PLACE)
    inputs = lambda p: {(0, 0): p, (1, 0): jnp.eye(2)[0], (0, 1): jnp.eye(2)[1]}
    requested = downward_closure([(1, 0), (0, 2)])
    run = lambda p: propagate(network, [inputs(p)], requested)
    assert set(jax.eval_shape(run, point)) == requested
    counts = operations(run, point)
    assert counts["tanh"] == 2  # once a layer
    assert counts["dot_general"] == 3 + 2 * len(requested)  # the inputs are linear
    alone = operations(network, point)
    assert alone["tanh"] == 2 and alone["dot_general"] == 3


def test_gradients_of_a_residual_over_many_points():
    network = some_network(Tanh())
    points = jnp.asarray(np.random.default_rng(0).uniform(size=(6, 2)))
    scale = jnp.asarray(0.7)

    def by_jets(params, point):
        network, scale = params
        jets = coordinate_jets(point, 2)
        inputs = propagate(lambda t, x: jnp.stack([t, scale * x]), jets, requested)
        outputs = propagate(network, [inputs], requested)
        return outputs[1, 0][0] + outputs[0, 0][1] * outputs[0, 2][0]

    def by_nesting(params, point):
        network, scale = params
        fn = lambda t, x: network(jnp.stack([t, scale * x]))
        twice, once = nested(fn, point, 1, 1), nested(fn, point, 0)
        return once[1, 0][0][0] + once[0, 0][0][1] * twice[0, 2][0][0]

    requested = downward_closure([(1, 0), (0, 2)])
    results = []
    for residual in (by_jets, by_nesting):
        mean = lambda params, residual=residual: jnp.mean(
            jax.vmap(residual, (None, 0))(params, points) ** 2
        )
        run = jax.jit(jax.value_and_grad(mean), compiler_options=QUICK)
        results.append(run((network, scale)))
    for got, want in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


def test_float32_stays_float32():
    network, requested = some_network(Tanh(), jnp.float32), downward_closure([(1, 1)])

    def run(point):
        inputs = propagate(
            lambda t, x: jnp.stack([t, x]), coordinate_jets(point, 2), requested
        )
        return propagate(network, [inputs], requested)

    jet = jax.eval_shape(run, jnp.asarray(PLACE, jnp.float32))
    assert set(jet) == requested
    assert all(part.dtype == jnp.float32 for part in jet.values())
