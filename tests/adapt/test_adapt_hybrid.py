"""Weights that points share, and weights in few digits: less memory, the same tilt."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from vrba.adapt import Hybrid, _shared_weights

SHAPE, CELLS = (6, 4, 6), (2, 3)
COARSE = (6, 2, 2)
PLAIN = vrba.Smoothing(memory=0.0, rate=1.0, mix=1.0, is_normalised=False)
RANDOM = np.random.default_rng(0)
RESIDUAL = RANDOM.normal(size=SHAPE)
BASE = RANDOM.uniform(0.1, 1.0, size=SHAPE)
BASE /= BASE.sum()
BASES = pytest.mark.parametrize("base", [None, BASE], ids=["even", "uneven"])


def repeated(x):
    """Numbers of cells at every point."""
    return np.kron(x, np.ones((1, *CELLS)))


def summed(x):
    """Over the points of each cell, in plain loops."""
    y = np.zeros(COARSE)
    for f, i, j in np.ndindex(SHAPE):
        y[f, i // CELLS[0], j // CELLS[1]] += x[f, i, j]
    return y


def cell_sizes(residual, base):
    """The root of the mean square in each cell."""
    share = np.ones(SHAPE) if base is None else base
    return np.sqrt(summed(share * residual**2) / summed(share))


def seen(policy, residuals, base=None, dtype=None):
    """The state after seeing residuals, of all functions or of some."""
    state = policy.init(SHAPE, base=base, dtype=dtype)
    for residual, ids in residuals:
        state = policy.update(state, residual, ids)
    return state


@pytest.mark.parametrize(
    ("settings", "base"),
    [
        ({}, None),
        ({"objective": vrba.adapt.ExactSquaredLoss()}, BASE),
        ({"score": vrba.adapt.FlatnessScore()}, BASE),
    ],
    ids=["squared", "exact", "flatness"],
)
def test_residuals_constant_in_cells_are_weighed_as_without_cells(settings, base):
    residuals = [(repeated(RANDOM.normal(size=COARSE)), None) for _ in range(3)]
    if "score" not in settings:
        few = jnp.asarray([4, 1, 1])
        residuals.append((repeated(RANDOM.normal(size=COARSE))[few], few))
    fine = Hybrid(vrba.Exponential(), **settings)
    coarse = Hybrid(vrba.Exponential(), cells=CELLS, **settings)
    a, b = seen(fine, residuals, base), seen(coarse, residuals, base)
    assert b.weight.shape == COARSE
    np.testing.assert_allclose(repeated(b.weight), a.weight, rtol=1e-12)
    for of in ("weights", "mass", "tilt", "base", "probability", "effective_size"):
        one, other = getattr(fine, of)(a), getattr(coarse, of)(b)
        np.testing.assert_allclose(other, one, rtol=1e-12, err_msg=of)
    ids = jnp.asarray([3, 0])
    np.testing.assert_allclose(coarse.weights(b, ids), fine.weights(a, ids), rtol=1e-12)
    residual = RESIDUAL[np.asarray(ids)]
    np.testing.assert_allclose(
        coarse.loss(b, jnp.asarray(residual), ids),
        fine.loss(a, jnp.asarray(residual), ids),
        rtol=1e-12,
    )


@BASES
def test_the_tilt_is_that_of_mean_squares(base):
    policy = Hybrid(vrba.Quadratic(), smoothing=PLAIN, floor=0.0, cells=CELLS)
    state = seen(policy, [(RESIDUAL, None)], base)
    size = cell_sizes(RESIDUAL, base)
    share = summed(np.full(SHAPE, 1 / RESIDUAL.size) if base is None else base)
    joint = share * size / np.sum(share * size)
    np.testing.assert_allclose(policy.tilt(state), joint.sum(axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(policy.mass(state), joint.sum(axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(policy.base(state), share.sum(axis=(1, 2)), rtol=1e-12)
    scale = policy.scale(policy.init(SHAPE, base=base), RESIDUAL)
    np.testing.assert_allclose(scale.peak, size.max(), rtol=1e-13)
    within = np.ones(SHAPE) if base is None else base
    within = within / within.mean(axis=(1, 2), keepdims=True)
    weight = np.asarray(policy.weights(state)) / np.sqrt(within)
    np.testing.assert_allclose(np.mean(within * weight, axis=(1, 2)), 1, rtol=1e-12)
    assert policy.weights(state).shape == SHAPE


def test_cells_of_any_size_are_summed_and_repeated():
    """In steps of a few points, and at once where none divides."""
    sizes = (22, 36, 2)
    x = RANDOM.normal(size=(2, *sizes))
    apart = x.reshape(2, 2, 11, 1, 36, 2, 1)
    total = _shared_weights.sum_cells(jnp.asarray(x), (11, 36, 1))
    np.testing.assert_allclose(total, apart.sum(axis=(2, 4, 6)), rtol=1e-12, atol=1e-12)
    again = np.kron(total, np.ones((1, 11, 36, 1)))
    np.testing.assert_array_equal(
        _shared_weights.repeat_cells(total, (11, 36, 1)), again
    )


def test_one_weight_for_each_time():
    policy = Hybrid(vrba.Quadratic(), cells=(4, 1))
    state = seen(policy, [(RESIDUAL, None)])
    assert state.weight.shape == (6, 1, 6)
    weight = np.asarray(policy.weights(state))
    np.testing.assert_array_equal(weight, np.repeat(weight[:, :1], 4, axis=1))
    np.testing.assert_allclose(weight.mean(axis=(1, 2)), 1, rtol=1e-13)


@BASES
def test_channels_are_one_axis_more(base):
    policy = Hybrid(vrba.adapt.Cosh(), cells=CELLS)
    three = RANDOM.normal(size=(*SHAPE, 3))
    norm = np.sqrt(np.sum(three**2, axis=-1))
    a, b = (seen(policy, [(x, None)], base) for x in (three, norm))
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)
    one = seen(policy, [(RESIDUAL[..., None], None)], base)
    np.testing.assert_array_equal(
        one.weight, seen(policy, [(RESIDUAL, None)], base).weight
    )


@BASES
def test_a_cell_looks_at_what_is_finite(base):
    """One without any keeps its weight; all that are not finite are counted."""
    policy = Hybrid(vrba.Quadratic(), smoothing=PLAIN, cells=CELLS)
    bad = RESIDUAL.copy()
    bad[0, 0, 0], bad[3, 3, 5] = np.nan, -np.inf
    bad[2, :2, :3] = np.nan
    state = seen(policy, [(bad, None)], base)
    assert state.num_rejected == 8
    assert state.status == vrba.Status.nonfinite_residual
    is_finite = np.isfinite(bad)
    share = is_finite * (np.ones(SHAPE) if base is None else base)
    with np.errstate(invalid="ignore"):
        square = summed(share * np.where(is_finite, bad, 0) ** 2) / summed(share)
    size, known = np.sqrt(square), summed(share) > 0
    ratio = np.asarray(state.weight)[known] / size[known]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    assert np.sum(~known) == 1 and state.weight[2, 0, 0] == PLAIN.start()
    nothing = policy.update(state, np.full(SHAPE, np.nan))
    np.testing.assert_array_equal(nothing.weight, state.weight)
    assert nothing.num_rejected == bad.size and nothing.num_updates == 1


def test_cells_without_base_do_no_harm():
    base = BASE.copy()
    base[1], base[2, :2, :3] = 0, 0
    policy = Hybrid(vrba.Quadratic(), smoothing=PLAIN, cells=CELLS)
    state = seen(policy, [(RESIDUAL, None)], base)
    assert state.num_rejected == 0 and policy.tilt(state)[1] == 0
    assert jnp.all(jnp.isfinite(policy.weights(state)))
    huge = seen(policy, [(1e200 * RESIDUAL, None)], base)
    np.testing.assert_allclose(huge.weight, state.weight, rtol=1e-12)


def test_half_the_digits_give_nearly_the_same_weights():
    """Each update rounds by at most `eps / 2`, and the memory sums that up."""
    memory = 0.98
    smoothing = vrba.Smoothing(memory=memory, rate=0.1)
    half = Hybrid(vrba.Exponential(), smoothing=smoothing, weight_dtype="float16")
    single = Hybrid(vrba.Exponential(), smoothing=smoothing)
    residuals = [
        (
            RANDOM.normal(size=(4, *SHAPE[1:])).astype("float32"),
            RANDOM.permutation(6)[:4],
        )
        for _ in range(100)
    ]
    a = seen(half, residuals, BASE, "float32")
    b = seen(single, residuals, BASE, "float32")
    assert a.weight.dtype == "float16" and b.weight.dtype == "float32"
    bound = 0.5 * 2.0**-10 / (1 - memory) * float(jnp.max(b.weight))
    difference = jnp.abs(a.weight.astype("float32") - b.weight)
    assert 0 < jnp.max(difference) < bound
    assert half.weights_bytes(a) * 2 == single.weights_bytes(b) == 4 * RESIDUAL.size
    for of in ("weights", "mass", "tilt", "base", "effective_size"):
        assert getattr(half, of)(a).dtype == "float32"
    np.testing.assert_allclose(jnp.sum(half.tilt(a)), 1, rtol=1e-6)
    assert a.scale.peak.dtype == "float32"
    np.testing.assert_array_equal(a.scale.peak, b.scale.peak)


def test_both_together_take_a_fraction_of_the_memory():
    policy = Hybrid(vrba.Quadratic(), cells=(4, 1), weight_dtype="float16")
    state = seen(policy, [(RESIDUAL, None)], dtype="float32")
    assert policy.weights_bytes(state) == 6 * 6 * 2
    weight = policy.weights(state)
    assert weight.dtype == "float32" and weight.shape == SHAPE
    np.testing.assert_allclose(weight.mean(axis=(1, 2)), 1, rtol=1e-6)


def test_compiles_once_and_gives_gradients_to_residuals_only():
    policy, count = Hybrid(vrba.Exponential(), cells=CELLS, weight_dtype="float16"), []

    @eqx.filter_jit
    def step(state, scale, ids):
        count.append(1)

        def loss(scale):
            residual = scale * jnp.asarray(RESIDUAL)[ids]
            new = policy.update(state, residual, ids)
            return policy.loss(new, residual, ids), new

        return jax.value_and_grad(loss, has_aux=True)(scale)

    state = policy.init(SHAPE)
    for k in range(3):
        (value, state), slope = step(state, jnp.asarray(1.0 + k), jnp.asarray([k, 5]))
        np.testing.assert_allclose(slope, 2 * value / (1 + k), rtol=1e-12)
    assert len(count) == 1 and state.weight.dtype == "float16"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cells": (0, 2)}, "cells"),
        ({"cells": ()}, "cells"),
        ({"cells": (2.0, 3)}, "positive integers"),
        ({"weight_dtype": "int8"}, "weight_dtype"),
        ({"weight_dtype": "half a float"}, "float16"),
        ({"weight_dtype": "bfloat16"}, "float64 or None, got"),
        (
            {"weight_dtype": "float16", "smoothing": vrba.Smoothing(0.999)},
            r"0\.001, .*Smoothing\(memory=0\.998\)",
        ),
        (
            {
                "weight_dtype": "float16",
                "smoothing": vrba.Smoothing(vrba.adapt.GrowingCap(10, 20), rate=0.03),
            },
            "float16 needs 0.002",
        ),
        ({"weight_dtype": "float16", "smoothing": PLAIN}, "is_normalised"),
    ],
)
@pytest.mark.usefixtures("as_a_user")
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        Hybrid(vrba.Quadratic(), **settings)


def test_settings_that_leave_enough_digits_are_taken():
    cap = vrba.adapt.GrowingCap(10, 20)
    for name, smoothing in [
        ("float16", vrba.Smoothing(0.998)),
        ("float16", vrba.Smoothing(cap, rate=0.04)),
        ("float32", vrba.Smoothing(0.99999)),
    ]:
        Hybrid(vrba.Quadratic(), smoothing=smoothing, weight_dtype=name)


def test_cells_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"axis 1 of points, which has 6.*\[1, 2, 3"):
        Hybrid(vrba.Quadratic(), cells=(2, 4)).init(SHAPE)
    with pytest.raises(ValueError, match="3 numbers, but there are 2 axes of points"):
        Hybrid(vrba.Quadratic(), cells=(2, 3, 1)).init(SHAPE)
    policy = Hybrid(vrba.Quadratic(), cells=CELLS)
    with pytest.raises(ValueError, match=r"must have shape \(6, 4, 6\)"):
        policy.update(policy.init(SHAPE), np.ones(COARSE))
    with pytest.raises(ValueError, match=r"`base` must have shape \(6, 4, 6\)"):
        policy.init(SHAPE, base=np.ones(COARSE))


def test_functions_with_a_scale_of_their_own_can_come_in_batches():
    """The published score: each function as if it were alone, in any order."""
    policy = Hybrid(vrba.Quadratic(), score=vrba.adapt.FlatnessScore())
    whole = policy.update(policy.init(SHAPE), RESIDUAL)
    state = policy.init(SHAPE)
    for ids in ([4, 1, 0], [2, 5, 3]):
        state = policy.update(state, RESIDUAL[np.array(ids)], jnp.asarray(ids))
    np.testing.assert_allclose(state.weight, whole.weight, rtol=1e-12)
    np.testing.assert_allclose(state.scale.peak, whole.scale.peak, rtol=1e-12)
    sizes = np.abs(RESIDUAL).reshape(len(RESIDUAL), -1)
    np.testing.assert_allclose(state.scale.peak, sizes.max(axis=1), rtol=1e-12)
    again = policy.update(state, 1000 * RESIDUAL[:2], jnp.asarray([0, 1]))
    np.testing.assert_array_equal(again.scale.peak[2:], state.scale.peak[2:])
