"""Operators: conformance of all of them, then what each is known for."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from rooms import concrete

from vrba.models import (
    FNO,
    MLP,
    AbstractActivation,
    AbstractOperatorArchitecture,
    ComplexArray,
    DeepONet,
    DenseKernel,
    DenseWeights,
    Tanh,
    TimeConditionedUNet,
    TuckerKernel,
    count_params,
)
from vrba.models._attention import build_attention, build_linear_attention
from vrba.models._convolution import Convolution, GroupNorm, double, halve
from vrba.models._draw import draw_all
from vrba.models._spectrum import analyse, num_kept, synthesise

KEY = jax.random.key(7)
GRID = (8, 8)
SMALL = {
    "DeepONet": {"branch": MLP(6, 1), "trunk": MLP(6, 1), "latent": 5},
    "FNO": {"modes": 4, "width": 4, "depth": 2, "kernel": TuckerKernel()},
    "TimeConditionedUNet": {
        "width": 4,
        "multipliers": (2,),
        "num_groups": 2,
        "head_width": 2,
    },
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


# Fourier layers.


class Identity(AbstractActivation):
    """Makes any network linear."""

    def slopes(self, value, order):
        return [value, jnp.ones_like(value), *[jnp.zeros_like(value)] * order][
            : order + 1
        ]


def by_fft(field, modes, weights):
    """The same convolution from all frequencies, as NumPy knows them."""
    axes = tuple(range(len(modes)))
    spectrum = np.fft.rfftn(field, axes=axes, norm="forward")
    kept = [np.arange(-(m // 2), (m + 1) // 2) for m in modes[:-1]]
    kept = np.ix_(*kept, np.arange(modes[-1] // 2 + 1))
    changed = np.zeros_like(spectrum)
    changed[kept] = np.einsum("...i,...io->...o", spectrum[kept], weights)
    return np.fft.irfftn(changed, field.shape[:-1], axes=axes, norm="forward")


@pytest.mark.parametrize("window", [(3, 3), (1, 7), (2, 4)])
def test_a_window_slides_as_in_jax(window):
    """Values and gradients, also of windows without a middle."""
    random = np.random.default_rng(0)
    weight = random.normal(size=(*window, 2, 3))
    layer = Convolution(jnp.asarray(weight), jnp.asarray(random.normal(size=3)))
    field = jnp.asarray(random.normal(size=(5, 6, 2)))

    def by_jax(field, weight):
        numbers = ("NHWC", "HWIO", "NHWC")
        found = jax.lax.conv_general_dilated(
            field[None], weight, (1, 1), "SAME", dimension_numbers=numbers
        )
        return found[0] + layer.bias[None, None, :]

    ours = lambda field, weight: Convolution(weight, layer.bias)(field)
    loss = lambda fn: lambda *both: jnp.sum(jnp.sin(fn(*both)))
    np.testing.assert_allclose(layer(field), by_jax(field, layer.weight), atol=1e-13)
    for one, two in zip(
        jax.grad(loss(ours), (0, 1))(field, layer.weight),
        jax.grad(loss(by_jax), (0, 1))(field, layer.weight),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize(
    ("grid", "modes"), [((10, 9), (4, 5)), ((6, 5, 8), (6, 3, 8)), ((7,), (4,))]
)
def test_convolution_is_that_of_numpy(grid, modes):
    shape = (*num_kept(modes), 3, 3)
    weights = numbers(*shape, seed=1) + 1j * numbers(*shape, seed=2)
    field = numbers(*grid, 3)

    @jax.jit
    def run(field, real, imag):
        kernel = DenseWeights(ComplexArray(real, imag))
        return synthesise(kernel(analyse(field, modes)), grid, modes)

    found = run(field, weights.real, weights.imag)
    np.testing.assert_allclose(found, by_fft(field, modes, weights), atol=1e-13)


def test_tucker_is_dense_when_expanded():
    kept, there = (4, 3, 2), lambda a: np.asarray(a.real) + 1j * np.asarray(a.imag)
    make = lambda draw: TuckerKernel(rank=0.6).build(kept, 5, draw)
    tucker = draw_all(make, key=KEY, dtype=jnp.float64)
    assert tucker.core.real.shape == (2, 2, 1, 3, 3)
    parts = [*tucker.axes, tucker.inward, tucker.outward]
    expanded = np.einsum(
        "abcde,xa,yb,zc,id,eo->xyzio", there(tucker.core), *map(there, parts)
    )
    dense = DenseWeights(
        ComplexArray(*map(jnp.asarray, (expanded.real, expanded.imag)))
    )
    spectrum = numbers(*kept, 2, 5)
    np.testing.assert_allclose(
        call(tucker, spectrum), call(dense, spectrum), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("kernel", [DenseKernel(), TuckerKernel(rank=0.5)])
def test_kernels_keep_the_size_of_a_spectrum(kernel):
    make = lambda draw: kernel.build((8, 8, 8), 16, draw)
    weights = draw_all(make, key=KEY, dtype=jnp.float64)
    after = call(weights, numbers(8, 8, 8, 2, 16))
    np.testing.assert_allclose(jnp.mean(after**2), 1, rtol=0.35)


def fourier(**settings):
    """From values on 12 by 12 points to values at 8 times."""
    made = FNO(modes=4, width=5, depth=2, **{"activation": Tanh()} | settings)
    return made.build((12, 12, 1), (12, 12, 8, 1), 3, key=KEY, dtype=jnp.float64)


def wavy(num_points):
    """A function of low frequencies on a grid."""
    x = 2 * np.pi * np.arange(num_points) / num_points
    x, y = np.meshgrid(x, x, indexing="ij")
    return (np.sin(x) * np.cos(y) + 0.3 * np.cos(y - x))[..., None]


@pytest.mark.parametrize(("activation", "error"), [(Identity(), 1e-12), (Tanh(), 1e-4)])
def test_a_finer_grid_gives_the_same_values(activation, error):
    """Up to what an activation puts into frequencies beyond the coarse grid."""
    model = fourier(activation=activation, has_coordinates=False, has_grid=False)
    values = []
    for num_points in (12, 24):
        places = places_on(num_points, num_points, 8)
        values.append(call(model, wavy(num_points), places))
    np.testing.assert_allclose(values[0], values[1][::2, ::2], atol=error)
    assert np.std(values[0]) > 100 * error


@pytest.mark.parametrize("is_blind", [True, False])
def test_shifts_commute_if_no_coordinate_is_seen(is_blind):
    model = fourier(has_coordinates=not is_blind, has_grid=not is_blind)
    places, function = places_on(12, 12, 8), numbers(12, 12, 1)
    moved = call(model, np.roll(function, (3, 5), axis=(0, 1)), places)
    expected = np.roll(call(model, function, places), (3, 5), axis=(0, 1))
    is_same_description = np.allclose(moved, expected, atol=1e-12)
    assert is_same_description == is_blind


def test_a_function_is_repeated_along_the_axes_it_lacks():
    model, function = fourier(), numbers(12, 12, 1)
    places = places_on(12, 12, 8)
    whole = np.broadcast_to(function[:, :, None], (12, 12, 8, 1))
    values = call(model, function, places)
    np.testing.assert_allclose(values, call(model, whole, places), atol=1e-13)
    assert np.min(np.std(values, axis=2)) > 0


@pytest.mark.parametrize(
    ("settings", "shapes", "words"),
    [
        ({"modes": 9}, ((8, 8, 1), (8, 8, 1)), r"`modes` .* \(8, 8\), .* \(9, 9\)"),
        ({"modes": (4, 4)}, ((8, 1), (8, 8, 8, 1)), r"`modes` .* got \(4, 4\)"),
        ({}, ((12, 16, 1), (12, 12, 1)), r"`in_shape` has the grid \(12, 16\)"),
        ({}, ((12, 12, 12, 1), (12, 12, 1)), r"`in_shape` has the grid"),
    ],
)
def test_fno_refuses_what_does_not_fit(settings, shapes, words):
    with pytest.raises(ValueError, match=words):
        FNO(**settings).build(*shapes, 2, key=KEY, dtype=jnp.float64)


@pytest.mark.usefixtures("as_a_user")
def test_fno_refuses_calls_that_do_not_fit():
    model, places = fourier(), places_on(12, 12, 8)
    with pytest.raises(ValueError, match=r"`function` must .* \(any, any, 1\)"):
        model(numbers(12, 12, 2), places)
    with pytest.raises(ValueError, match=r"`places` must .* \(any, any, any, 3\)"):
        model(numbers(12, 12, 1), places[0])
    with pytest.raises(ValueError, match=r"`function` has the grid \(6, 6\)"):
        model(numbers(6, 6, 1), places)
    with pytest.raises(ValueError, match="`modes` .* use a finer grid"):
        model(numbers(3, 3, 1), places_on(3, 3, 8))


def test_fno_refuses_bad_settings():
    with pytest.raises(ValueError, match="`modes` must be at least 1, got 0"):
        FNO(modes=(4, 0))
    with pytest.raises(ValueError, match="`rank` must be a share .* got 1.5"):
        TuckerKernel(rank=1.5)


def test_adam_trains_complex_weights():
    """The kernels alone, in float32."""
    model = small("FNO", "float32")
    data = jax.device_put([x.astype(np.float32) for x in DATA])
    vector, rebuild = ravel([block.kernel for block in model.blocks])

    @jax.jit
    def run(kernels):
        def loss(kernels):
            pairs = zip(model.blocks, kernels, strict=True)
            blocks = [dataclasses.replace(block, kernel=k) for block, k in pairs]
            changed = dataclasses.replace(model, blocks=blocks)
            values = jax.vmap(changed, in_axes=(0, None))(*data[:2])
            return jnp.mean((values - data[2]) ** 2)

        return jax.value_and_grad(loss)(kernels)

    optimizer = optax.adam(3e-2)
    state, losses = optimizer.init(vector), []
    for _ in range(20):
        loss, gradient = run(rebuild(vector))
        with jax.numpy_dtype_promotion("standard"):
            step, state = optimizer.update(ravel(gradient)[0], state)
        vector, losses = vector + np.asarray(step), [*losses, float(loss)]
    assert vector.dtype == np.float32 and losses[-1] < losses[10] < losses[0]


# The U-Net.


def test_the_time_is_seen_wherever_it_stands():
    """Moved behind the other coordinates it gives the same, later it gives another."""
    places = np.stack([places_on(*GRID, time=time) for time in (0.3, 0.3, 0.4)])
    functions = np.broadcast_to(DATA[0][0], DATA[0].shape)
    values = np.asarray(call_each(small("TimeConditionedUNet"), functions, places))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    assert np.all(np.isfinite(values)) and np.max(np.abs(values[2] - values[0])) > 1e-3
    made = TimeConditionedUNet(**SMALL["TimeConditionedUNet"], time_axis=2)
    model = made.build((*GRID, 2), (*GRID, 2), 3, key=KEY, dtype=jnp.float64)
    last = call_each(model, functions, places[..., [1, 2, 0]])
    np.testing.assert_allclose(last, values, rtol=1e-12, atol=1e-13)


def test_grids_are_halved_and_doubled_on_the_way():
    """The network of the paper, on any grid that allows it."""

    def run(function, places, key):
        made = TimeConditionedUNet()
        model = made.build((64, 64, 1), (64, 64, 2), 3, key=key, dtype=jnp.float64)
        return model(function, places)

    found = jax.eval_shape(run, numbers(16, 24, 1), places_on(16, 24, time=1.0), KEY)
    assert found.shape == (16, 24, 2)


@pytest.mark.usefixtures("as_a_user")
def test_unet_refuses_what_does_not_fit():
    def build(in_shape, out_shape, dim=3, **settings):
        made = TimeConditionedUNet(**settings)
        return made.build(in_shape, out_shape, dim, key=KEY, dtype=jnp.float64)

    with pytest.raises(ValueError, match=r"\(12, 16\), which must be divisible by 8"):
        build((12, 16, 1), (12, 16, 1))
    with pytest.raises(ValueError, match="the same grid of two axes"):
        build((16, 16, 1), (16, 16, 8, 1))
    with pytest.raises(ValueError, match="`time_axis` .* 0 to 1 .* got 2"):
        build((16, 16, 1), (16, 16, 1), dim=2, time_axis=2)
    with pytest.raises(ValueError, match="`width` .* got 12 and 8"):
        TimeConditionedUNet(width=12)
    model, function = small("TimeConditionedUNet"), numbers(*GRID, 2)
    with pytest.raises(ValueError, match="several times in one sample"):
        model(function, np.roll(places_on(*GRID, time=0.3), 1, axis=-1))
    with pytest.raises(ValueError, match=r"`places` must .* \(8, 8, 3\)"):
        model(function, places_on(4, 8, time=0.3))


def softmax(values, axis):
    values = np.exp(values - values.max(axis=axis, keepdims=True))
    return values / values.sum(axis=axis, keepdims=True)


def heads_of(attention, points):
    """Queries, keys and values `[points, heads, channels]` of a normed field."""
    points = points / np.sqrt(np.mean(points**2, axis=1, keepdims=True) + 1e-5)
    maps = attention.heads.queries, attention.heads.keys, attention.heads.values
    return [(points @ np.asarray(each.weight)).reshape(-1, 2, 3) for each in maps]


def test_attention_is_that_of_the_textbook():
    make = lambda draw: build_attention(6, 2, 3, draw)
    attention = draw_all(make, key=KEY, dtype=jnp.float64)
    field = numbers(4, 3, 6)
    queries, keys, values = heads_of(attention, field.reshape(12, 6))
    shares = softmax(np.einsum("ihd,jhd->ijh", queries, keys) / np.sqrt(3), axis=1)
    taken = np.einsum("ijh,jhd->ihd", shares, values).reshape(12, 6)
    output = attention.heads.output
    taken = taken @ np.asarray(output.weight) + np.asarray(output.bias)
    expected = field + taken.reshape(4, 3, 6)
    np.testing.assert_allclose(call(attention, field), expected, rtol=1e-12)


def test_linear_attention_is_that_of_the_textbook():
    make = lambda draw: build_linear_attention(6, 2, 3, draw)
    attention = draw_all(make, key=KEY, dtype=jnp.float64)
    field = numbers(4, 3, 6)
    queries, keys, values = heads_of(attention, field.reshape(12, 6))
    averages = np.einsum("jhd,jhe->hde", softmax(keys, axis=0), values)
    taken = np.einsum("ihd,hde->ihe", softmax(queries, axis=2), averages) / np.sqrt(3)
    output = attention.heads.output
    taken = taken.reshape(12, 6) @ np.asarray(output.weight) + np.asarray(output.bias)
    taken /= np.sqrt(np.mean(taken**2, axis=1, keepdims=True) + 1e-5)
    expected = field + taken.reshape(4, 3, 6)
    np.testing.assert_allclose(call(attention, field), expected, rtol=1e-12)


def test_groups_are_normed_and_grids_halved_and_doubled():
    field = numbers(4, 6, 8)
    norm = GroupNorm(*map(jax.device_put, (np.full(8, 2.0), np.full(8, 0.5))), 2)
    groups = np.asarray(call(norm, field)).reshape(4, 6, 2, 4)
    np.testing.assert_allclose(np.mean(groups, axis=(0, 1, 3)), 0.5, rtol=1e-12)
    np.testing.assert_allclose(np.std(groups, axis=(0, 1, 3)), 2, rtol=1e-4)
    corners = [field[i::2, j::2] for i in (0, 1) for j in (0, 1)]
    shrunk, grown = jax.jit(lambda field: (halve(field), double(field)))(field)
    np.testing.assert_array_equal(shrunk, np.concatenate(corners, axis=-1))
    np.testing.assert_array_equal(grown, np.kron(field, np.ones((2, 2, 1))))
