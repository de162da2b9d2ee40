"""Neural operators: conformance of all of them, sizes, DeepONet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models.cases import (
    DATA,
    GRID,
    KEY,
    OPERATORS,
    SMALL,
    call,
    call_each,
    numbers,
    program,
    ravel,
    small,
)
from vrba.models import (
    FNO,
    AbstractBuiltKernel,
    AbstractKernel,
    ComplexArray,
    DeepONet,
    TimeConditionedUNet,
    TuckerKernel,
    count_params,
)

EACH = pytest.mark.parametrize("name", sorted(OPERATORS))

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
def test_gradients_agree_with_finite_differences(name):
    """The loss also decreases along the negative gradient, to first order."""
    run, traces = program(name)
    model = small(name)
    (loss, _), gradient = run(model, *DATA)
    assert all(np.max(np.abs(leaf)) > 0 for leaf in jax.tree.leaves(gradient))
    assert jax.tree.structure(gradient) == jax.tree.structure(model)
    random = np.random.default_rng(4)
    direction = jax.tree.map(lambda x: random.normal(size=x.shape) / x.size**0.5, model)
    above, below = (
        run(moved(model, direction, by=by), *DATA)[0][0] for by in (1e-5, -1e-5)
    )
    products = jax.tree.map(lambda g, d: np.sum(np.asarray(g) * d), gradient, direction)
    expected = sum(jax.tree.leaves(products))
    np.testing.assert_allclose((above - below) / 2e-5, expected, rtol=1e-5)
    square = sum(np.sum(np.asarray(g) ** 2) for g in jax.tree.leaves(gradient))
    (lower, _), _ = run(moved(model, gradient, by=-1e-3 * loss / square), *DATA)
    np.testing.assert_allclose(lower, 0.999 * loss, rtol=1e-4)
    assert len(traces) == 1


@EACH
def test_float32_stays_float32(name):
    model = small(name, "float32")
    function, places = DATA[0][0].astype(np.float32), DATA[1].astype(np.float32)
    values = jax.eval_shape(call, model, function, places)
    kinds = {leaf.dtype for leaf in jax.tree.leaves([model, values])}
    assert kinds == {np.dtype("float32")}


@EACH
def test_the_key_determines_all_parameters(name):
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


def test_invalid_shapes_raise():
    cases = [
        (((8,), (8, 8, 1), 3), r"`in_shape` .* got \(8,\)"),
        (((8, 8, 1), (8, 0, 1), 3), r"`out_shape` .* got \(8, 0, 1\)"),
        (((8, 8, 1), (8, 8, 1), 0), "`dim` must be at least 1, got 0"),
    ]
    for name, architecture in OPERATORS.items():
        made = architecture(**SMALL.get(name, {}))
        for shapes, words in cases:
            with pytest.raises(ValueError, match=words):
                made.build(*shapes, key=KEY, dtype=jnp.float64)


# Sizes.


@pytest.mark.parametrize(
    ("architecture", "shapes", "count", "reals"),
    [
        (DeepONet(), ((200, 1), (500, 1), 1), 101_100, 101_100),
        (
            FNO(kernel=TuckerKernel(rank=1.0)),
            ((64, 64, 1), (64, 64, 51, 1), 3),
            1_622_849,
            3_240_197,
        ),
        (TimeConditionedUNet(), ((64, 64, 1), (64, 64, 1), 3), 2_432_001, 2_432_001),
    ],
    ids=["DeepONet", "FNO", "TimeConditionedUNet"],
)
def test_networks_of_the_paper_have_its_number_of_parameters(
    architecture, shapes, count, reals
):
    """The numbers are those of the scripts of Toscano et al. (2025)."""
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


class Drawn(AbstractBuiltKernel):
    """The identity, with arrays of known distributions."""

    arrays: list[jax.Array]

    def __call__(self, spectrum):
        return spectrum


class Drawing(AbstractKernel):
    """A kernel of one's own, to see what `draw` gives it."""

    def build(self, num_frequencies, width, draw):
        arrays = [draw((100, 50), 0.2), draw((7,), 0.0, 1.0), draw((5000,), 3.0)]
        return Drawn(arrays)


def test_drawn_numbers_have_their_mean_and_deviation():
    def build(key):
        architecture = FNO(modes=2, width=2, depth=1, kernel=Drawing())
        model = architecture.build((4, 1), (4, 1), 1, key=key, dtype=jnp.float32)
        return model.blocks[0].kernel.arrays

    one, two, three = build(KEY)
    np.testing.assert_allclose([jnp.std(one), jnp.std(three)], [0.2, 3], rtol=0.03)
    np.testing.assert_array_equal(two, np.ones(7, np.float32))
    assert abs(np.corrcoef(np.ravel(one), three)[0, 1]) < 0.05
    assert {x.dtype for x in (one, two, three)} == {np.dtype("float32")}
    for found, expected in zip(jax.jit(build)(KEY), (one, two, three), strict=True):
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


def test_the_trunk_is_evaluated_once_at_shared_places():
    functions, places, _ = DATA
    mapped = jax.vmap(small("DeepONet"), in_axes=(0, None))
    equations = jax.make_jaxpr(mapped)(functions, places).eqns
    sizes = {eq.outvars[0].aval.size for eq in equations if eq.primitive.name == "tanh"}
    assert sizes == {3 * 6, 64 * 6}


@pytest.mark.usefixtures("as_a_user")
def test_deeponet_raises_at_another_input_grid():
    with pytest.raises(ValueError, match=r"`function` .* \(8, 8, 2\) .* \(9, 8, 2\)"):
        small("DeepONet")(numbers(9, 8, 2), numbers(4, 3))
    with pytest.raises(ValueError, match="`latent` must be at least 1, got 0"):
        DeepONet(latent=0)
