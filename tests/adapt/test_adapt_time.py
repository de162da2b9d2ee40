"""Policies around others: early times first, windows in time, outliers cut off."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import Decay, tiny_recipe
from vrba.compare import make_policy, with_potential, with_time_axis
from vrba.pinn import Evaluator, Trainer
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import load_tree, save_tree

N = 40
RNG = np.random.default_rng(11)
TIMES = RNG.permutation(np.linspace(-1, 3, N))
POINTS = np.stack([RNG.uniform(size=N), TIMES], axis=1)
ONE_BAD = np.where(np.arange(N)[:, None] == 7, np.nan, POINTS)
RESIDUAL = jnp.asarray(RNG.normal(size=N))
INNER = vrba.presets.vrba_sampling(correction=vrba.Unbiased())
CAUSAL = vrba.adapt.Causal(INNER, 3.0, 4, axis=1)
WINDOWS = vrba.adapt.TimeWindowWeights(INNER, 4, 0.1, 3, axis=1)
QUARTER = np.minimum(TIMES + 1, 3.5).astype(int)  # four windows of length one


def init(policy, **options):
    return policy.init(N, points=POINTS, **options)


def expected_factor(residual, first):
    """`exp(-3 * sum of earlier mean squares / (4 * their mean at first))`."""
    mean = lambda r, k: np.mean(np.asarray(r)[np.equal(QUARTER, k)] ** 2)
    scale = sum(mean(first, k) for k in range(4))
    earlier = [sum(mean(residual, j) for j in range(k)) / scale for k in range(4)]
    return np.exp(-3 * np.array(earlier))[QUARTER]


def test_causal_factors_have_their_closed_form():
    state = CAUSAL.update(init(CAUSAL), RESIDUAL)
    np.testing.assert_allclose(
        CAUSAL.factor(state), expected_factor(RESIDUAL, RESIDUAL), rtol=1e-12
    )
    later = RESIDUAL * np.exp(-TIMES)
    state = CAUSAL.update(state, later)
    factor = expected_factor(later, RESIDUAL)
    np.testing.assert_allclose(CAUSAL.factor(state), factor, rtol=1e-12)
    inner = INNER.probability(state.inner)
    np.testing.assert_allclose(
        CAUSAL.probability(state), inner * factor / np.sum(inner * factor), rtol=1e-12
    )
    np.testing.assert_array_equal(CAUSAL.weights(state), INNER.weights(state.inner))


def test_causal_factors_have_no_unit():
    one, two = (init(CAUSAL) for _ in range(2))
    for residual in (RESIDUAL, RESIDUAL**3):
        one = CAUSAL.update(one, residual)
        two = CAUSAL.update(two, 1e150 * residual)
    np.testing.assert_allclose(CAUSAL.factor(one), CAUSAL.factor(two), rtol=1e-12)


def test_causal_ends_as_the_plain_policy():
    state = init(CAUSAL)
    np.testing.assert_array_equal(CAUSAL.factor(state), 1)
    state = CAUSAL.update(state, RESIDUAL)
    assert jnp.min(CAUSAL.factor(state)) < 0.2
    solved = CAUSAL.update(state, jnp.zeros(N))
    np.testing.assert_array_equal(CAUSAL.factor(solved), 1)
    nearly = CAUSAL.update(state, 1e-3 * RESIDUAL)
    assert jnp.min(CAUSAL.factor(nearly)) > 1 - 3e-6
    early = jnp.where(QUARTER < 3, 0, RESIDUAL)  # only the last quarter is not solved
    np.testing.assert_array_equal(CAUSAL.factor(CAUSAL.update(state, early)), 1)
    silent = CAUSAL.update(init(CAUSAL), jnp.zeros(N))
    np.testing.assert_array_equal(CAUSAL.factor(silent), 1)


def test_causal_descends_the_weighted_mean_square_either_way():
    """`mean(factor * R**2)`; corrected draws give a multiple of it."""
    state = CAUSAL.update(init(CAUSAL), RESIDUAL)
    factor = CAUSAL.factor(state)
    drawn = CAUSAL.probability(state) * (CAUSAL.weights(state) * RESIDUAL) ** 2
    share = jnp.sum(INNER.probability(state.inner) * factor)
    np.testing.assert_allclose(
        share * jnp.sum(drawn), jnp.mean(factor * RESIDUAL**2), rtol=1e-12
    )
    plain = vrba.Smoothing(memory=0.0, rate=1.0, mix=0.0, is_normalised=False)
    weighs = vrba.adapt.Causal(
        vrba.Weighting(vrba.adapt.Linear(), smoothing=plain), 3.0, 4, axis=1
    )
    state = weighs.update(init(weighs), RESIDUAL)
    np.testing.assert_allclose(weighs.mass(state), 1 / N, rtol=1e-12)
    np.testing.assert_allclose(
        weighs.loss(state, RESIDUAL), jnp.mean(factor * RESIDUAL**2), rtol=1e-12
    )


def test_causal_remembers_the_bins_it_has_not_seen():
    state = CAUSAL.update(init(CAUSAL), RESIDUAL)
    first = np.flatnonzero(QUARTER == 0)
    after = CAUSAL.update(state, jnp.zeros(first.size), first)
    expected = expected_factor(jnp.where(QUARTER == 0, 0, RESIDUAL), RESIDUAL)
    np.testing.assert_allclose(CAUSAL.factor(after), expected, rtol=1e-12)


def test_the_front_moves_when_its_points_are_solved_or_time_is_up():
    state = WINDOWS.update(init(WINDOWS), RESIDUAL)
    fronts = [int(state.num_open)]
    for _ in range(3):  # not solved: it moves after three more updates
        state = WINDOWS.update(state, RESIDUAL)
        fronts.append(int(state.num_open))
    assert fronts == [1, 1, 1, 2]
    level = np.sqrt(np.mean(np.asarray(RESIDUAL) ** 2))
    high = jnp.where(QUARTER < 2, 0.11 * level, level)
    assert WINDOWS.update(state, high).num_open == 2
    state = WINDOWS.update(state, jnp.where(QUARTER < 2, 0.09 * level, level))
    assert state.num_open == 3
    for _ in range(4):
        state = WINDOWS.update(state, jnp.zeros(N))
    assert state.num_open == 4
    np.testing.assert_array_equal(WINDOWS.factor(state), 1)
    np.testing.assert_array_equal(
        WINDOWS.probability(state), INNER.probability(state.inner)
    )


def test_no_point_beyond_the_front_is_drawn_and_all_are_in_the_end(keys):
    state, seen = init(WINDOWS), set()
    for front in (1, 1, 1, 2, 2, 2, 3, 3, 3, 4):
        state = WINDOWS.update(state, RESIDUAL * jnp.asarray(1.5**QUARTER))
        assert state.num_open == front
        drawn = QUARTER[WINDOWS.draw(state, 500, key=next(keys))]
        assert set(drawn) == set(range(front))
        np.testing.assert_array_equal(WINDOWS.mass(state)[front <= QUARTER], 0)
        seen |= set(drawn)
    assert seen == {0, 1, 2, 3}


def test_windows_weigh_and_draw_nothing_beyond_the_front():
    policy = vrba.adapt.TimeWindowWeights(vrba.Weighting(vrba.Quadratic()), 4, axis=1)
    state = policy.update(init(policy), RESIDUAL)
    for beyond in (policy.weights(state), policy.mass(state), policy.tilt(state)):
        np.testing.assert_array_equal(beyond[QUARTER > 0], 0)
        assert jnp.all(beyond[QUARTER == 0] > 0)


def test_the_tilt_inside_a_window_does_not_see_what_is_beyond():
    policy = vrba.adapt.TimeWindowWeights(INNER, 4, 1e-9, axis=1)
    one, two = (
        policy.update(init(policy), jnp.where(QUARTER == 0, RESIDUAL, scale))
        for scale in (1.0, 1e3)
    )
    np.testing.assert_array_equal(policy.probability(one), policy.probability(two))


def test_capped_outlier_does_not_take_the_tilt():
    """A value that is a thousand deviations off, in data with normal noise."""
    noise = RNG.normal(size=200)
    spoilt = np.append(noise, 1000.0)
    plain, capped = INNER, vrba.adapt.Capped(INNER)
    taken = plain.tilt(plain.update(plain.init(201), spoilt))[-1]
    state = capped.update(capped.init(201), spoilt)
    assert taken > 0.19  # most of what one update can move: memory 0.7, mix 0.8
    assert capped.tilt(state)[-1] < 0.01
    cap = 6 * np.median(np.abs(spoilt))
    by_hand = plain.update(plain.init(201), np.minimum(np.abs(spoilt), cap))
    np.testing.assert_array_equal(capped.tilt(state), plain.tilt(by_hand))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_capped_is_the_wrapped_policy_below_the_cap(dtype):
    residual = jnp.asarray(RNG.uniform(1, 2, size=(N, 2)), dtype)
    capped = vrba.adapt.Capped(INNER)
    plain = INNER.update(INNER.init(N, dtype=dtype), residual)
    state = capped.update(capped.init(N, dtype=dtype), residual)
    for one, two in zip(jax.tree.leaves(state), jax.tree.leaves(plain), strict=True):
        np.testing.assert_array_equal(one, two)
    mostly_zero = jnp.zeros(N, dtype).at[3].set(1.0)  # a median of zero caps nothing
    state = capped.update(capped.init(N, dtype=dtype), mostly_zero)
    assert jnp.argmax(capped.tilt(state)) == 3


@pytest.mark.parametrize("policy", [CAUSAL, WINDOWS], ids=["causal", "windows"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_saved_state_goes_on_bit_for_bit(policy, dtype, tmp_path):
    residual = jnp.asarray(RESIDUAL, dtype)
    state = policy.update(init(policy, dtype=dtype), residual)
    save_tree(tmp_path / "state.npz", state, {})
    loaded, _ = load_tree(tmp_path / "state.npz", init(policy, dtype=dtype))
    for _ in range(5):
        state = policy.update(state, residual / 2)
        loaded = policy.update(loaded, residual / 2)
    leaves = zip(jax.tree.leaves(state), jax.tree.leaves(loaded), strict=True)
    for one, two in leaves:
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    assert policy.factor(state).dtype == dtype


def test_a_run_with_windows_goes_on_bit_for_bit(tmp_path):
    """Through the trainer: pools bring their times, checkpoints keep the front."""
    policy = vrba.adapt.TimeWindowWeights(INNER, 3, max_updates=2)
    recipe = tiny_recipe(policy=policy, optimizer=vrba.optim.Adam())
    trainer = Trainer(Evaluator(Formulation(Decay()), recipe, 0))
    times = trainer.pools[EQUATIONS][0][:, 0]  # of a pool in (0, 2)

    def go_on(state):
        return trainer.advance(trainer.resample(state), 2)[0]

    state = go_on(trainer.init())
    assert jnp.max(times[state.ids[EQUATIONS]]) <= 2 / 3 + 0.02
    save_tree(tmp_path / "state.npz", state, {})
    loaded, _ = load_tree(tmp_path / "state.npz", trainer.state_template(0))
    for _ in range(4):
        state, loaded = go_on(state), go_on(loaded)
    leaves = zip(jax.tree.leaves(state), jax.tree.leaves(loaded), strict=True)
    for one, two in leaves:
        np.testing.assert_array_equal(one, two)
    assert state.policies[EQUATIONS].num_open == 3
    assert jnp.max(times[state.ids[EQUATIONS]]) > 4 / 3


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: vrba.adapt.Causal(INNER, tolerance=0), "tolerance"),
        (lambda: vrba.adapt.Causal(INNER, num_bins=0), "num_bins"),
        (lambda: vrba.adapt.TimeWindowWeights(INNER, num_windows=0), "num_windows"),
        (lambda: vrba.adapt.TimeWindowWeights(INNER, tolerance=2), "tolerance"),
        (lambda: vrba.adapt.TimeWindowWeights(INNER, max_updates=0), "max_updates"),
        (lambda: vrba.adapt.Capped(INNER, multiple=0), "multiple"),
        (lambda: vrba.adapt.Capped(INNER, quantile=1), "quantile"),
        (lambda: vrba.adapt.Causal(INNER).init(N), "pass `points=` to `init`"),
        (lambda: vrba.adapt.Causal(INNER).init(N, points=POINTS[:3]), "40 rows.*got 3"),
        (
            lambda: vrba.adapt.TimeWindowWeights(INNER, axis=2).init(N, points=POINTS),
            "2, got 2",
        ),
        (
            lambda: vrba.adapt.TimeWindowWeights(INNER).init((N, 2), points=POINTS),
            "one number",
        ),
        (lambda: vrba.adapt.Capped(INNER).init((N, 2)), "one number"),
        (
            lambda: vrba.adapt.Capped(None),
            "`policy` must be of the kind `AbstractPolicy`",
        ),
        (lambda: vrba.adapt.LocalAverage("vrba"), "`policy` must be of the kind"),
        (lambda: vrba.Sampling("quadratic"), "`potential` must be of the kind"),
        (lambda: vrba.Weighting(vrba.Quadratic), r"write `Quadratic\(...\)`"),
        (lambda: vrba.Hybrid(None), "`potential` must be of the kind"),
        (lambda: vrba.adapt.Causal(INNER).init(N, points=ONE_BAD), r"nan\] in row 7"),
        (
            lambda: vrba.adapt.TimeWindowWeights(INNER).init(N, points=ONE_BAD),
            "must be finite",
        ),
        (
            lambda: vrba.adapt.LocalAverage(INNER).init(N, points=ONE_BAD),
            "must be finite",
        ),
        (
            lambda: vrba.adapt.Causal(INNER).init(N, points=POINTS[:, 0]),
            "two axes.*40,",
        ),
        (
            lambda: vrba.adapt.TimeWindowWeights(INNER).init(N, points=[0.0] * N),
            "two axes.*40,",
        ),
    ],
)
def test_bad_settings_are_named(build, name, as_a_user):
    with pytest.raises(ValueError, match=name):
        build()


def test_wrappers_by_name_go_around_the_default():
    causal = make_policy("causal", vrba.Exponential(), INNER)
    assert isinstance(causal, vrba.adapt.Causal)
    assert causal.policy == with_potential(INNER, vrba.Exponential())
    assert make_policy("causal", None, causal) is causal  # a run that is resumed
    assert with_time_axis(causal, ("x", "t")).axis == 1
    with pytest.raises(ValueError, match="needs a coordinate `t`.*x, y"):
        with_time_axis(causal, ("x", "y"))
    with pytest.raises(ValueError, match="wraps another"):
        make_policy("causal", None, None)
