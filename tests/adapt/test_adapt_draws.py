"""Draws follow their probabilities: counts, spread, and pools of ten million."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import vrba
from tests.rooms import concrete
from vrba.adapt import draws

DRAWS = [cls() for cls in concrete("vrba.adapt", vrba.adapt.AbstractDraw)]
EXACT = [draw for draw in DRAWS if not isinstance(draw, vrba.adapt.WithoutReplacement)]
by_name = lambda draw: type(draw).__name__


@eqx.filter_jit
def ids_of(draw, mass, num_points, key):
    return draw.ids(mass, num_points, key=key)


@eqx.filter_jit
def counts(draw, mass, num_points, keys):
    """How often each point came, for each key."""

    def one(key):
        ids = draw.ids(mass, num_points, key=key)
        return jnp.zeros(mass.size, jnp.int32).at[ids].add(1)

    return jax.lax.map(one, keys)


@pytest.mark.parametrize("draw", EXACT, ids=by_name)
@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_expected_counts(draw, dtype):
    rng = np.random.default_rng(0)
    mass = jnp.asarray(rng.exponential(size=77) ** 2, dtype)
    num_draws, num_points = 4000, 30
    keys = jax.random.split(jax.random.key(1), num_draws)
    got = np.asarray(counts(draw, mass, num_points, keys))
    assert np.all(got.sum(axis=1) == num_points)
    expected = num_points * np.asarray(mass / mass.sum(), np.float64)
    # the error of a mean of counts whose variance is at most that of independent draws
    error = np.sqrt(expected / num_draws) + 1e-6
    assert np.max(np.abs(got.mean(axis=0) - expected) / error) < 4.5


@pytest.mark.parametrize("draw", DRAWS, ids=by_name)
@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_points_without_mass_never_come(draw, dtype):
    rng = np.random.default_rng(1)
    mass = rng.exponential(size=1000)
    mass[rng.permutation(1000)[:800]] = 0
    mass[160:480] = 0  # whole blocks and rows of blocks
    keys = jax.random.split(jax.random.key(2), 200)
    got = counts(draw, jnp.asarray(mass, dtype), 90, keys)
    assert np.all(np.asarray(got)[:, mass == 0] == 0)


@pytest.mark.parametrize("draw", DRAWS, ids=by_name)
def test_same_key_same_points(draw):
    mass = jnp.linspace(1, 2, 50)
    a, b, c = (ids_of(draw, mass, 20, jax.random.key(i)) for i in (5, 5, 6))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_systematic_counts_differ_by_less_than_one():
    mass = jnp.asarray(np.random.default_rng(2).exponential(size=77))
    keys = jax.random.split(jax.random.key(3), 300)
    got = np.asarray(counts(vrba.adapt.Systematic(), mass, 200, keys))
    expected = 200 * np.asarray(mass / mass.sum())
    assert np.all(got >= np.floor(expected - 1e-9))
    assert np.all(got <= np.ceil(expected + 1e-9))


def test_stratified_is_far_less_noisy_than_independent():
    mass = jnp.asarray(np.random.default_rng(3).exponential(size=77))
    keys = jax.random.split(jax.random.key(4), 500)
    noise = {
        by_name(draw): np.asarray(counts(draw, mass, 300, keys)).var(axis=0).sum()
        for draw in EXACT
    }
    assert noise["Systematic"] < 0.1 * noise["WithReplacement"]
    assert noise["Stratified"] < 0.2 * noise["WithReplacement"]


def test_independent_draws_are_multinomial():
    mass = np.random.default_rng(4).exponential(size=20)
    keys = jax.random.split(jax.random.key(5), 3000)
    got = np.asarray(counts(vrba.adapt.WithReplacement(), jnp.asarray(mass), 50, keys))
    share = mass / mass.sum()
    np.testing.assert_allclose(got.var(axis=0), 50 * share * (1 - share), rtol=0.15)
    assert stats.chisquare(got.sum(axis=0), 50 * 3000 * share).pvalue > 1e-3


def test_without_replacement_is_successive_sampling():
    mass = np.array([1.0, 2.0, 3.0, 4.0])
    keys = jax.random.split(jax.random.key(6), 40_000)
    got = np.asarray(
        counts(vrba.adapt.WithoutReplacement(), jnp.asarray(mass), 2, keys)
    )
    assert got.max() == 1
    share = mass / mass.sum()
    pairs = share[:, None] * share[None, :] / (1 - share[:, None])
    np.fill_diagonal(pairs, 0)
    expected = pairs.sum(axis=0) + pairs.sum(axis=1)
    np.testing.assert_allclose(got.mean(axis=0), expected, atol=0.01)
    with pytest.raises(ValueError, match="num_points=5"):
        vrba.adapt.WithoutReplacement().ids(jnp.asarray(mass), 5, key=jax.random.key(0))


def test_stratified_does_not_fall_into_step_with_a_sobol_pool():
    """The leading digit of a van der Corput pool is the last digit of its index."""
    index = np.arange(4096)
    pool = np.array([int(f"{i:012b}"[::-1], 2) for i in index]) / 4096
    mass = jnp.ones(4096)
    spread = {}
    for draw in (vrba.adapt.Systematic(), vrba.adapt.Stratified()):
        ids = np.asarray(ids_of(draw, mass, 512, jax.random.key(7)))
        spread[by_name(draw)] = np.ptp(pool[ids])
    assert spread["Systematic"] < 0.2
    assert spread["Stratified"] > 0.95


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(
    "draw", [vrba.adapt.Stratified(), vrba.adapt.WithReplacement()], ids=by_name
)
def test_ten_million_points(draw, dtype):
    """Strata of a large pool, and the places inside its blocks, come as they should."""
    num_points, num_draws = 10_000_000, 200_000
    ramp = jnp.linspace(0.5, 1.5, num_points, dtype=dtype)
    ids = np.asarray(ids_of(draw, ramp, num_draws, jax.random.key(8)))
    strata = np.bincount(ids // 100_000, minlength=100)
    edges = np.linspace(0, 1, 101)
    share = np.diff(0.5 * edges + 0.5 * edges**2)
    assert stats.chisquare(strata, num_draws * share).pvalue > 1e-3
    low_digits = np.bincount(ids % 128, minlength=128)
    assert stats.chisquare(low_digits).pvalue > 1e-3


@jax.jit
def search(mass, position):
    blocks = draws.make_blocks(mass)
    point = draws.point_of(blocks, draws.block_of(blocks, position), position)
    return draws.cumulative_sum(mass), point


def test_running_sums_and_searches_agree_with_numpy():
    rng = np.random.default_rng(9)
    for size in (1, 31, 33, 5000):
        x = rng.exponential(size=size)
        position = np.sort(rng.uniform(size=50)) * x.sum()
        running, point = search(jnp.asarray(x), jnp.asarray(position))
        np.testing.assert_allclose(running, np.cumsum(x), rtol=1e-13)
        expected = np.searchsorted(np.cumsum(x), position, side="right")
        np.testing.assert_array_equal(point, expected)


@pytest.mark.slow
def test_without_replacement_resolves_heavy_points_of_large_pools():
    """A point with half the mass of a large pool comes first half the time."""
    num_points, num_draws = 2_000_000, 60
    mass = jnp.ones(num_points, jnp.float32).at[7].set(num_points - 1)
    draw = vrba.adapt.WithoutReplacement()
    ids = [ids_of(draw, mass, 1, jax.random.key(i))[0] for i in range(num_draws)]
    share = np.mean(np.asarray(ids) == 7)
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / num_draws)
