"""The Fourier neural operator and its kernels."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tests.models.cases import DATA, KEY, call, numbers, places_on, ravel, small
from vrba.models import (
    FNO,
    AbstractActivation,
    ComplexArray,
    DenseKernel,
    DenseWeights,
    Tanh,
    TuckerKernel,
)


class Identity(AbstractActivation):
    """The identity: it makes any network linear."""

    def derivatives(self, value, order):
        return [value, jnp.ones_like(value), *[jnp.zeros_like(value)] * order][
            : order + 1
        ]


def by_fft(field, modes, weights):
    """Return the same convolution by the full transform of NumPy."""
    axes = tuple(range(len(modes)))
    spectrum = np.fft.rfftn(field, axes=axes, norm="forward")
    kept = [np.arange(-(m // 2), (m + 1) // 2) for m in modes[:-1]]
    kept = np.ix_(*kept, np.arange(modes[-1] // 2 + 1))
    changed = np.zeros_like(spectrum)
    changed[kept] = np.einsum("...i,...io->...o", spectrum[kept], weights)
    return np.fft.irfftn(changed, field.shape[:-1], axes=axes, norm="forward")


def dense(weights):
    parts = map(jnp.asarray, (weights.real, weights.imag))
    return DenseWeights(ComplexArray(*parts))


@pytest.mark.parametrize(
    ("grid", "modes"), [((10, 9), (4, 5)), ((6, 5, 8), (6, 3, 8)), ((7,), (4,))]
)
def test_convolution_is_that_of_numpy(grid, modes):
    architecture, shape = FNO(modes=modes, width=3, depth=1), (*grid, 1)
    model = architecture.build(shape, shape, 1, key=KEY, dtype=jnp.float64)
    (block,) = model.blocks
    shape = (*modes[:-1], modes[-1] // 2 + 1, 3, 3)
    assert block.kernel.matrix.real.shape == shape
    weights = numbers(*shape, seed=1) + 1j * numbers(*shape, seed=2)
    block = dataclasses.replace(block, kernel=dense(weights))
    field = numbers(*grid, 3)
    found = eqx.filter_jit(block.convolve)(field, modes)
    np.testing.assert_allclose(found, by_fft(field, modes, weights), atol=1e-13)


def built_kernel(kernel, modes, width):
    """Return the weights that an operator of one layer builds, on the coarsest grid."""
    made, shape = FNO(modes=modes, width=width, depth=1, kernel=kernel), (*modes, 1)
    model = made.build(shape, shape, 1, key=KEY, dtype=jnp.float64)
    return model.blocks[0].kernel


def test_tucker_equals_dense_when_expanded():
    to_complex = lambda a: np.asarray(a.real) + 1j * np.asarray(a.imag)
    tucker = built_kernel(TuckerKernel(rank=0.6), (4, 3, 3), 5)
    assert tucker.core.real.shape == (2, 2, 1, 3, 3)
    parts = [*tucker.axes, tucker.inward, tucker.outward]
    expanded = np.einsum(
        "abcde,xa,yb,zc,id,eo->xyzio", to_complex(tucker.core), *map(to_complex, parts)
    )
    spectrum = numbers(4, 3, 2, 2, 5)
    found, expected = call(tucker, spectrum), call(dense(expanded), spectrum)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kernel", [DenseKernel(), TuckerKernel(rank=0.5)])
def test_kernels_preserve_the_mean_square_of_a_spectrum(kernel):
    weights = built_kernel(kernel, (8, 8, 15), 16)
    after = call(weights, numbers(8, 8, 8, 2, 16))
    np.testing.assert_allclose(jnp.mean(after**2), 1, rtol=0.35)


def fourier(**settings):
    """Build an operator from 12 by 12 points to values at 8 times."""
    made = FNO(modes=4, width=5, depth=2, **{"activation": Tanh()} | settings)
    return made.build((12, 12, 1), (12, 12, 8, 1), 3, key=KEY, dtype=jnp.float64)


def wavy(num_points):
    """Return a function of low frequencies on a grid."""
    x = 2 * np.pi * np.arange(num_points) / num_points
    x, y = np.meshgrid(x, x, indexing="ij")
    return (np.sin(x) * np.cos(y) + 0.3 * np.cos(y - x))[..., None]


@pytest.mark.parametrize(("activation", "error"), [(Identity(), 1e-12), (Tanh(), 1e-4)])
def test_a_finer_grid_gives_the_same_values(activation, error):
    """The activation adds frequencies that the coarse grid cannot resolve."""
    model = fourier(activation=activation, has_coordinates=False, has_grid=False)
    values = []
    for num_points in (12, 24):
        places = places_on(num_points, num_points, 8)
        values.append(call(model, wavy(num_points), places))
    np.testing.assert_allclose(values[0], values[1][::2, ::2], atol=error)
    assert np.std(values[0]) > 100 * error


@pytest.mark.parametrize("is_blind", [True, False])
def test_shifts_commute_only_without_coordinates(is_blind):
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
def test_shapes_that_do_not_fit_raise(settings, shapes, words):
    with pytest.raises(ValueError, match=words):
        FNO(**settings).build(*shapes, 2, key=KEY, dtype=jnp.float64)


@pytest.mark.usefixtures("as_a_user")
def test_calls_that_do_not_fit_raise():
    model, places = fourier(), places_on(12, 12, 8)
    with pytest.raises(ValueError, match=r"`function` must .* \(any, any, 1\)"):
        model(numbers(12, 12, 2), places)
    with pytest.raises(ValueError, match=r"`places` must .* \(any, any, any, 3\)"):
        model(numbers(12, 12, 1), places[0])
    with pytest.raises(ValueError, match=r"`function` has the grid \(6, 6\)"):
        model(numbers(6, 6, 1), places)
    with pytest.raises(ValueError, match="`modes` .* use a finer grid"):
        model(numbers(3, 3, 1), places_on(3, 3, 8))


def test_bad_settings_raise():
    with pytest.raises(ValueError, match="`modes` must be at least 1, got 0"):
        FNO(modes=(4, 0))
    with pytest.raises(ValueError, match="`rank` must be a fraction .* got 1.5"):
        TuckerKernel(rank=1.5)


def test_adam_trains_complex_weights():
    """Train only the kernels, in float32."""
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
