"""The time-conditioned U-Net and its layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models.cases import (
    DATA,
    GRID,
    KEY,
    SMALL,
    call,
    call_each,
    numbers,
    places_on,
    small,
)
from vrba.models import Convolution, TimeConditionedUNet


def test_the_output_depends_on_the_time():
    """Its position among the coordinates does not matter."""
    places = np.stack([places_on(*GRID, time=time) for time in (0.3, 0.3, 0.4)])
    functions = np.broadcast_to(DATA[0][0], DATA[0].shape)
    values = np.asarray(call_each(small("TimeConditionedUNet"), functions, places))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    assert np.all(np.isfinite(values)) and np.max(np.abs(values[2] - values[0])) > 1e-3
    made = TimeConditionedUNet(**SMALL["TimeConditionedUNet"], time_axis=2)
    model = made.build((*GRID, 2), (*GRID, 2), 3, key=KEY, dtype=jnp.float64)
    last = call_each(model, functions, places[..., [1, 2, 0]])
    np.testing.assert_allclose(last, values, rtol=1e-12, atol=1e-13)


def test_any_grid_that_can_be_halved():
    """The network of the paper, on a grid other than that of the build."""

    def run(function, places, key):
        made = TimeConditionedUNet()
        model = made.build((64, 64, 1), (64, 64, 2), 3, key=key, dtype=jnp.float64)
        return model(function, places)

    found = jax.eval_shape(run, numbers(16, 24, 1), places_on(16, 24, time=1.0), KEY)
    assert found.shape == (16, 24, 2)


@pytest.mark.usefixtures("as_a_user")
def test_bad_settings_shapes_and_calls_raise():
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


@pytest.fixture(scope="module")
def layers():
    """A U-Net of two levels with 6 and 12 channels, attention with 2 heads of 3."""
    made = TimeConditionedUNet(6, (1, 2), num_groups=2, num_heads=2, head_width=3)
    return made.build((4, 4, 1), (4, 4, 1), 3, key=KEY, dtype=jnp.float64)


def heads_of(attention, points):
    """Return queries, keys and values `[points, heads, channels]`."""
    points = points / np.sqrt(np.mean(points**2, axis=1, keepdims=True) + 1e-5)
    maps = attention.heads.queries, attention.heads.keys, attention.heads.values
    return [(points @ np.asarray(each.weight)).reshape(-1, 2, 3) for each in maps]


def test_attention_follows_its_formula(layers):
    attention, field = layers.middle[1], numbers(4, 3, 12)
    queries, keys, values = heads_of(attention, field.reshape(12, 12))
    weights = softmax(np.einsum("ihd,jhd->ijh", queries, keys) / np.sqrt(3), axis=1)
    mixed = np.einsum("ijh,jhd->ihd", weights, values).reshape(12, 6)
    output = attention.heads.output
    mixed = mixed @ np.asarray(output.weight) + np.asarray(output.bias)
    expected = field + mixed.reshape(4, 3, 12)
    np.testing.assert_allclose(call(attention, field), expected, rtol=1e-12)


def test_linear_attention_follows_its_formula(layers):
    attention, field = layers.down_levels[0].attention, numbers(4, 3, 6)
    queries, keys, values = heads_of(attention, field.reshape(12, 6))
    averages = np.einsum("jhd,jhe->hde", softmax(keys, axis=0), values)
    mixed = np.einsum("ihd,hde->ihe", softmax(queries, axis=2), averages) / np.sqrt(3)
    output = attention.heads.output
    mixed = mixed.reshape(12, 6) @ np.asarray(output.weight) + np.asarray(output.bias)
    mixed /= np.sqrt(np.mean(mixed**2, axis=1, keepdims=True) + 1e-5)
    expected = field + mixed.reshape(4, 3, 6)
    np.testing.assert_allclose(call(attention, field), expected, rtol=1e-12)


def test_groups_are_normalised(layers):
    norm = layers.last_block.norms[0]
    gain_and_bias = lambda n: (n.gain, n.bias)
    norm = eqx.tree_at(gain_and_bias, norm, (jnp.full(6, 2.0), jnp.full(6, 0.5)))
    groups = np.asarray(call(norm, numbers(4, 6, 6))).reshape(4, 6, 2, 3)
    np.testing.assert_allclose(np.mean(groups, axis=(0, 1, 3)), 0.5, rtol=1e-12)
    np.testing.assert_allclose(np.std(groups, axis=(0, 1, 3)), 2, rtol=1e-4)


def test_levels_halve_and_double_the_grid(layers):
    down, up = layers.down_levels[0], layers.up_levels[0]
    field = numbers(4, 6, 6)
    corners = [field[i::2, j::2] for i in (0, 1) for j in (0, 1)]
    coarse = eqx.filter_jit(down.coarsen)(field)
    expected = call(down.next_level, np.concatenate(corners, axis=-1))
    np.testing.assert_allclose(coarse, expected, rtol=1e-12, atol=1e-14)
    field = numbers(2, 3, 12)
    expected = call(up.next_level, np.kron(field, np.ones((2, 2, 1))))
    fine = eqx.filter_jit(up.refine)(field)
    np.testing.assert_allclose(fine, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("window", [(3, 3), (1, 7), (2, 4)])
def test_convolution_agrees_with_jax(window):
    """Values and gradients, also for windows of even size."""
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
