"""What every policy promises: state by id, numbers that hold, errors that name."""

import dataclasses
import io
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import vrba
from tests.rooms import concrete
from vrba.adapt import (
    AbstractPolicy,
    AbstractTilting,
    AbstractTimed,
    AbstractWrapper,
    Hybrid,
    LocalAverage,
)

N = 24
RING = np.stack([(np.arange(N) + shift) % N for shift in (-1, 0, 1)], axis=1)
BUILT = {
    "Weighting": vrba.Weighting(vrba.Exponential()),
    "Sampling": vrba.Sampling(vrba.Quadratic()),
    "SelfAdaptive": vrba.adapt.SelfAdaptive(),
    "BRDR": vrba.adapt.BRDR(moment_memory=0.9, weight_memory=0.5),
    "LocalAverage": LocalAverage(vrba.Weighting(vrba.adapt.Cosh()), neighbour_ids=RING),
    "Capped": vrba.adapt.Capped(vrba.Sampling(vrba.Quadratic()), 1.5),
    "Causal": vrba.adapt.Causal(vrba.Sampling(vrba.Quadratic()), 2.0, 5),
    "TimeWindowWeights": vrba.adapt.TimeWindowWeights(
        vrba.Sampling(vrba.Quadratic()), 2, max_updates=1
    ),
    "growing": vrba.presets.vrba_weighting(num_stage=3),
    "unbiased": vrba.Sampling(vrba.adapt.Cosh(), correction=vrba.Unbiased()),
    "unbiased_capped": vrba.adapt.Capped(
        vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased()), 1.5
    ),
    "half_unbiased": vrba.Sampling(vrba.adapt.Cosh(), correction=vrba.Unbiased(0.5)),
    "unbiased_weights": vrba.Weighting(vrba.Quadratic(), correction=vrba.Unbiased()),
    "drawn_weights": vrba.Weighting(vrba.adapt.Cosh(), correction=vrba.Unbiased(0)),
    "effective": vrba.Sampling(vrba.Exponential(), vrba.EffectiveSize(0.5)),
    "rba": vrba.presets.rba(),
    "rad": vrba.presets.rad(),
    "uniform": vrba.presets.uniform(),
}
VARIANTS = ("growing", "rba", "rad", "uniform", "half_unbiased")
VARIANTS += ("unbiased", "unbiased_capped", "unbiased_weights", "drawn_weights")
CORE = [name for name in BUILT if name not in VARIANTS]
# What all policies inherit is looked at once for each way to hold a state.
KINDS = [
    "Weighting",
    "Sampling",
    "SelfAdaptive",
    "BRDR",
    "LocalAverage",
    "TimeWindowWeights",
]
TILTING = [n for n in BUILT if isinstance(BUILT[n], AbstractTilting)]
RESIDUAL = jnp.asarray(np.random.default_rng(0).normal(size=N))


def init(policy, num_points=N, **options):
    """A state of points in a row."""
    points = np.linspace(0, 1, num_points)[:, None]
    return policy.init(num_points, points=points, **options)


def arrays(tree):
    return jax.tree.leaves(eqx.filter(tree, eqx.is_array))


def test_no_policy_is_forgotten():
    names = {cls.__name__ for cls in concrete("vrba.adapt", AbstractPolicy)}
    assert names - {"Hybrid"} <= {type(policy).__name__ for policy in BUILT.values()}


@pytest.mark.parametrize("name", list(BUILT))
def test_weights_and_probabilities_are_sound(name, keys):
    policy = BUILT[name]
    state = init(policy)
    for _ in range(3):
        state = policy.update(state, RESIDUAL)
    for distribution in (policy.probability, policy.tilt, policy.base):
        np.testing.assert_allclose(jnp.sum(distribution(state)), 1, rtol=1e-13)
        assert jnp.all(distribution(state) > 0)
    assert jnp.all(policy.weights(state) > 0)
    assert 1 <= policy.effective_size(state) <= N * (1 + 1e-12)
    ids = policy.draw(state, 10, key=next(keys))
    assert ids.shape == (10,) and jnp.all((ids >= 0) & (ids < N))
    assert state.status == vrba.Status.ok and state.num_rejected == 0
    assert isinstance(policy.objective_norm(), str)
    np.testing.assert_allclose(
        policy.loss(state, RESIDUAL[ids], ids),
        policy.objective.mean(policy.weights(state, ids), RESIDUAL[ids]),
    )


@pytest.mark.parametrize("name", list(BUILT))
def test_an_unbiased_policy_leaves_the_loss_of_the_base_and_no_other_does(name):
    policy = BUILT[name]
    state = init(policy)
    for shift in range(3):
        state = policy.update(state, jnp.roll(RESIDUAL, shift))
    weights = policy.weights(state) ** policy.objective.loss_power
    share, base = policy.probability(state) * weights, policy.base(state)
    assert policy.is_unbiased() == np.allclose(share, base, rtol=1e-12)


@pytest.mark.parametrize("name", CORE)
def test_state_is_keyed_by_id(name):
    """Permuting ids permutes weights, unvisited ids keep theirs, repeats count once."""
    policy = BUILT[name]
    start = policy.update(init(policy), RESIDUAL)
    order = jnp.asarray(np.random.default_rng(1).permutation(N))
    shuffled = policy.update(start, 2 * RESIDUAL[order], order)
    straight = policy.update(start, 2 * RESIDUAL)
    for a, b in zip(arrays(shuffled), arrays(straight), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)

    few = jnp.asarray([3, 8, 11])
    visited = policy.update(start, RESIDUAL[few], few)
    others = np.setdiff1d(np.arange(N), few)
    inner = lambda state: arrays(state)[0]
    np.testing.assert_array_equal(inner(visited)[others], inner(start)[others])

    again = jnp.tile(few, N // 3)
    repeated = policy.update(start, RESIDUAL[again], again)
    for a, b in zip(arrays(repeated), arrays(visited), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("name", TILTING)
def test_mini_batches_with_one_scale_give_the_full_batch(name):
    policy = BUILT[name]
    full = batches = init(policy)
    rng = np.random.default_rng(2)
    for sweep in range(4):
        residual = RESIDUAL * (1 + sweep) + 0.1 * sweep
        scale = policy.scale(batches, residual)
        full = policy.update(full, residual)
        for ids in np.split(rng.permutation(N), 4):
            batches = policy.update(batches, residual[ids], ids, scale=scale)
    np.testing.assert_allclose(batches.weight, full.weight, rtol=1e-13)


def test_carried_scale_approaches_the_full_one():
    policy = vrba.Weighting(vrba.Quadratic(), scale_memory=0.9)
    state, rng = init(policy), np.random.default_rng(3)
    for _ in range(400):
        ids = rng.permutation(N)[:12]
        state = policy.update(state, RESIDUAL[ids], ids)
    full = policy.scale(init(policy), RESIDUAL)
    assert 0.5 * full.peak < state.scale.peak < full.peak
    own = vrba.Weighting(vrba.Quadratic()).update(init(policy), RESIDUAL[:12], ids)
    assert own.scale.peak == jnp.max(jnp.abs(RESIDUAL[:12]))


@pytest.mark.parametrize("name", CORE)
def test_jit_scan_and_vmap_agree_with_plain_calls(name):
    policy, start = BUILT[name], init(BUILT[name])
    residuals = jnp.stack([RESIDUAL, RESIDUAL**2, jnp.sin(RESIDUAL)])
    plain = start
    for residual in residuals:
        plain = policy.update(plain, residual)
    step = lambda state, residual: (policy.update(state, residual), None)
    scanned, _ = jax.lax.scan(step, start, residuals)
    for a, b in zip(arrays(scanned), arrays(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    both = jax.vmap(lambda residual: policy.update(start, residual))(residuals)
    alone = policy.update(start, residuals[1])
    for a, b in zip(arrays(both), arrays(alone), strict=True):
        np.testing.assert_allclose(a[1], b, rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_state_can_be_saved_and_goes_on_bit_for_bit(name):
    policy = BUILT[name]
    state = policy.update(init(policy), RESIDUAL)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, state)
    file.seek(0)
    loaded = eqx.tree_deserialise_leaves(file, init(policy))
    after = policy.update(state, RESIDUAL**2), policy.update(loaded, RESIDUAL**2)
    for a, b in zip(arrays(after[0]), arrays(after[1]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", KINDS)
def test_update_is_traced_once(name):
    policy, count = BUILT[name], []

    @jax.jit
    def step(state, residual):
        count.append(1)
        return policy.update(state, residual)

    state = init(policy)
    for _ in range(4):
        state = step(state, RESIDUAL)
    assert len(count) == 1


@pytest.mark.parametrize("name", KINDS)
def test_nothing_has_a_gradient(name):
    policy = BUILT[name]

    def weights(residual):
        state = policy.update(init(policy), residual)
        return jnp.sum(policy.weights(state)) + jnp.sum(policy.tilt(state) ** 2)

    np.testing.assert_array_equal(jax.grad(weights)(RESIDUAL), 0)


@pytest.mark.parametrize("name", CORE)
def test_bad_residuals_are_rejected_and_counted(name):
    policy = BUILT[name]
    start = policy.update(init(policy), RESIDUAL)
    bad = jnp.asarray([jnp.nan, jnp.inf, -jnp.inf])
    state = policy.update(start, RESIDUAL.at[jnp.asarray([2, 5, 9])].set(bad))
    assert state.status == vrba.Status.nonfinite_residual
    assert state.num_rejected == 3
    assert "learning rate" in vrba.Status[state.status]
    table = arrays(state)[0], arrays(start)[0]
    for k in (2, 5, 9):
        np.testing.assert_array_equal(table[0][k], table[1][k])
    assert all(jnp.all(jnp.isfinite(leaf)) for leaf in arrays(state))
    good = jnp.asarray([i for i in range(N) if i not in (2, 5, 9)])
    if name != "LocalAverage":  # its neighbours would have counted
        without = policy.update(start, RESIDUAL[good], good)
        np.testing.assert_allclose(
            policy.weights(state)[good], policy.weights(without)[good], rtol=1e-12
        )
    none = policy.update(start, jnp.full(N, jnp.nan))
    assert none.num_rejected == N
    np.testing.assert_array_equal(arrays(none)[0], arrays(start)[0])
    after = policy.update(none, RESIDUAL)
    assert after.status == vrba.Status.ok


def extremes(dtype):
    huge, tiny = (1e300, 1e-300) if dtype == jnp.float64 else (1e38, 1e-37)
    return {
        "zeros": np.zeros(4),
        "huge_and_tiny": np.array([huge, tiny, tiny, 0.0]),
        "tiny": np.array([tiny, 2 * tiny, 0.0, 0.1 * tiny]),
        "one_of_many": np.array([0.0, 0.0, 5.0, 0.0]),
        "equal": np.full(4, 3.7),
    }


CORNERS = {
    **{n: BUILT[n] for n in CORE if n != "LocalAverage"},
    **{
        f"{type(p).__name__}_{type(t).__name__}": vrba.Weighting(p, t)
        for p in (vrba.adapt.Logarithmic(), vrba.adapt.SuperExponential())
        for t in (
            vrba.adapt.SolveTemperature(),
            vrba.adapt.SolveShift(),
            vrba.adapt.Fixed(1e-300),
        )
    },
    "hot": vrba.Sampling(vrba.adapt.Custom(lambda s: s**4), vrba.adapt.Fixed(1e300)),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, jnp.float64) for name in CORNERS),
        *((name, jnp.float32) for name in ("Weighting", "effective", "BRDR")),
    ],
)
def test_extreme_residuals_leave_finite_weights(name, dtype):
    policy = CORNERS[name]
    for case, residual in extremes(dtype).items():
        state = init(policy, 4, dtype=dtype)
        values = jnp.asarray(residual, dtype)
        for _ in range(3):
            state = policy.update(state, values)
        assert all(jnp.all(jnp.isfinite(leaf)) for leaf in arrays(state)), case
        assert jnp.all(jnp.isfinite(policy.weights(state))), case
        np.testing.assert_allclose(jnp.sum(policy.probability(state)), 1, rtol=1e-6)
        is_early_first = isinstance(policy, AbstractTimed)
        if case == "zeros" or (case == "equal" and not is_early_first):
            np.testing.assert_allclose(policy.tilt(state), 0.25, rtol=1e-6)
        if case == "one_of_many" and name != "uniform":
            assert jnp.argmax(policy.tilt(state)) == 2


@pytest.mark.parametrize("name", [n for n in BUILT if n != "LocalAverage"])
def test_a_single_point(name, keys):
    policy = BUILT[name]
    state = policy.update(init(policy, 1), jnp.asarray([2.0]))
    assert policy.probability(state) == 1
    assert policy.draw(state, 1, key=next(keys)) == 0


@pytest.mark.parametrize("name", KINDS)
def test_sign_and_phase_do_not_matter(name):
    policy = BUILT[name]
    state = policy.update(init(policy), RESIDUAL)
    for same in (-RESIDUAL, jax.lax.complex(0.6 * RESIDUAL, 0.8 * RESIDUAL)):
        other = policy.update(init(policy), same)
        for a, b in zip(arrays(other), arrays(state), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_wrong_shapes_and_ids_are_named(name):
    policy = BUILT[name]
    state = init(policy)
    with pytest.raises(ValueError, match=re.escape("`residual` has shape (5,)")):
        policy.update(state, jnp.ones(5))
    with pytest.raises(ValueError, match=re.escape("(5,), but with 3 ids")):
        policy.update(state, jnp.ones(5), jnp.arange(3))
    with pytest.raises(ValueError, match=rf"ids.*0 and {N - 1}, got 2.*\[24, -1\]"):
        policy.update(state, jnp.ones(3), np.array([0, N, -1]))
    with pytest.raises(ValueError, match="integers"):
        policy.update(state, jnp.ones(1), np.array([[1]]))
    with pytest.raises(ValueError, match=f"0 and {N - 1}"):
        policy.weights(state, np.array([N]))
    with pytest.raises(Exception, match=f"between 0 and {N - 1}"):
        jax.block_until_ready(
            eqx.filter_jit(policy.update)(state, jnp.ones(1), jnp.asarray([N]))
        )
    with pytest.raises(ValueError, match="num_points"):
        policy.draw(state, 0, key=jax.random.key(0))
    with pytest.raises(ValueError, match="num_points"):
        policy.init(0)


@pytest.mark.parametrize("name", ["Weighting", "Sampling", "effective"])
def test_several_equations_share_a_tilt_or_have_their_own(name):
    policy = BUILT[name]
    residual = jnp.stack([RESIDUAL, 3 * jnp.cos(RESIDUAL)], axis=1)
    norm = jnp.linalg.norm(residual, axis=1)
    joint = policy.update(policy.init(N), residual)
    np.testing.assert_allclose(
        joint.weight, policy.update(policy.init(N), norm).weight, rtol=1e-13
    )
    separate = policy.update(policy.init((N, 2)), residual)
    for column in (0, 1):
        alone = policy.update(policy.init(N), residual[:, column])
        np.testing.assert_allclose(separate.weight[:, column], alone.weight, rtol=1e-13)
    np.testing.assert_allclose(jnp.sum(policy.probability(separate)), 1, rtol=1e-13)
    assert jnp.isfinite(policy.loss(joint, residual))
    assert jnp.isfinite(policy.loss(separate, residual))


def test_norm_over_equations_does_not_overflow():
    policy = vrba.Weighting(vrba.Quadratic())
    residual = jnp.asarray([[3e300, 4e300], [3e-300, 4e-300]])
    np.testing.assert_allclose(
        policy.update(policy.init(2), residual).scale.peak, 5e300
    )


@given(st.integers(0, 2**31 - 1))
def test_weights_stay_below_the_growing_cap(seed):
    policy = vrba.presets.vrba_weighting(eta=0.5, first_cap=2, last_cap=4, num_stage=5)
    rng, state, weight = np.random.default_rng(seed), policy.init(5), np.full(5, 0.2)
    for k in range(25):
        residual = rng.exponential(size=5)
        state = policy.update(state, residual)
        cap = min(4, 2 + k / 5)
        level = residual.max() / np.log(2 + k)
        gibbs = np.exp(residual / level)
        gibbs /= gibbs.mean()
        weight = (1 - 0.5 / cap) * weight
        weight += 0.5 / gibbs.max() * (0.8 * gibbs + 0.2)
        assert jnp.all(state.weight <= cap)
    np.testing.assert_allclose(state.weight, weight, rtol=1e-12)


@pytest.mark.parametrize(("eta", "gamma"), [(0.01, 0.999), (0.1, 0.9)])
def test_rba_is_its_published_recursion(eta, gamma):
    policy, rng = vrba.presets.rba(eta, gamma), np.random.default_rng(4)
    state = policy.init(50)
    weight = np.full(50, 0.1 * eta / (1 - gamma))
    for _ in range(500):
        residual = rng.normal(size=50) * rng.exponential()
        state = policy.update(state, residual)
        size = np.abs(residual)
        weight = gamma * weight + eta * size / size.max()
    np.testing.assert_allclose(state.weight, weight, rtol=1e-13)
    np.testing.assert_array_equal(policy.weights(state), state.weight)


@pytest.mark.parametrize(("k", "c"), [(1, 1), (2, 0), (0, 1), (0.5, 3)])
def test_rad_is_its_published_density(k, c):
    policy, rng = vrba.presets.rad(k, c), np.random.default_rng(5)
    state = policy.init(50)
    for _ in range(20):
        residual = rng.normal(size=50)
        state = policy.update(state, residual)
        density = np.abs(residual) ** k / np.mean(np.abs(residual) ** k) + c
        np.testing.assert_allclose(
            policy.probability(state), density / density.sum(), rtol=1e-13
        )


def test_uniform_stays_uniform():
    policy = vrba.presets.uniform()
    state = policy.update(policy.init(N), RESIDUAL)
    np.testing.assert_array_equal(policy.weights(state), 1)
    np.testing.assert_allclose(policy.probability(state), 1 / N, rtol=1e-14)


def test_base_is_tilted_not_replaced():
    base = np.arange(1.0, N + 1)
    policy = vrba.Sampling(vrba.Quadratic(), smoothing=PLAIN, floor=0.0)
    state = policy.update(policy.init(N, base=base), RESIDUAL)
    expected = base * np.abs(RESIDUAL)
    np.testing.assert_allclose(
        policy.probability(state), expected / expected.sum(), rtol=1e-13
    )
    np.testing.assert_allclose(policy.base(state), base / base.sum(), rtol=1e-14)
    share = base / base.sum()
    ratio = np.asarray(policy.tilt(state)) / share
    np.testing.assert_allclose(
        policy.effective_size(state), N / np.sum(share * ratio**2), rtol=1e-12
    )
    with pytest.raises(Exception, match="base"):
        policy.init(N, base=-base)
    with pytest.raises(ValueError, match="base.*shape"):
        policy.init(N, base=base[:3])


PLAIN = vrba.Smoothing(memory=0.0, rate=1.0, mix=1.0, is_normalised=False)


def expected_loss(policy, state, residual):
    weight = policy.weights(state) * residual
    return jnp.sum(policy.probability(state) * weight**2)


@pytest.mark.parametrize("potential", [vrba.Quadratic(), vrba.Exponential()])
def test_correction_removes_the_bias_of_the_draw(potential):
    unbiased, base = vrba.Unbiased(), np.arange(1.0, N + 1)
    share = base / base.sum()
    state = lambda policy: policy.update(policy.init(N, base=base), RESIDUAL)
    sampling = vrba.Sampling(potential, correction=unbiased)
    np.testing.assert_allclose(
        expected_loss(sampling, state(sampling), RESIDUAL),
        np.sum(share * RESIDUAL**2),
        rtol=1e-13,
    )
    weighting = vrba.Weighting(potential, correction=unbiased)
    plain = vrba.Weighting(potential)
    np.testing.assert_allclose(
        expected_loss(weighting, state(weighting), RESIDUAL),
        expected_loss(plain, state(plain), RESIDUAL),
        rtol=1e-13,
    )
    biased = vrba.Sampling(potential)
    assert expected_loss(biased, state(biased), RESIDUAL) > 1.05 * np.sum(
        share * RESIDUAL**2
    )


@given(sizes=hnp.arrays(np.float64, 9, elements=st.floats(0.01, 5)))
@pytest.mark.parametrize("mix", [0.3, 1.0])
def test_corrected_draws_of_the_quadratic_have_no_more_noise_than_uniform_ones(
    mix, sizes
):
    """`E_q[(w r)^4] <= E_p[r^4]`, also mixed with uniform sampling."""
    smoothing = vrba.Smoothing(memory=0.0, rate=1.0, mix=mix, is_normalised=False)
    policy = vrba.Sampling(
        vrba.Quadratic(), smoothing=smoothing, floor=0.0, correction=vrba.Unbiased()
    )
    state = policy.update(policy.init(9), sizes)
    probability, weight = policy.probability(state), policy.weights(state)
    np.testing.assert_allclose(probability @ (weight * sizes) ** 2, np.mean(sizes**2))
    noise = probability @ (weight * sizes) ** 4
    assert noise <= np.mean(sizes**4) * (1 + 1e-12)


def test_corrected_draws_by_the_squared_residual_are_exact(keys):
    residual = jnp.asarray(np.random.default_rng(6).normal(size=200) ** 3)
    policy = vrba.Sampling(
        vrba.adapt.Power(3), smoothing=PLAIN, floor=0.0, correction=vrba.Unbiased()
    )
    state = policy.update(policy.init(200), residual)
    ids = policy.draw(state, 20, key=next(keys))
    np.testing.assert_allclose(
        policy.loss(state, residual[ids], ids), jnp.mean(residual**2), rtol=1e-12
    )


def test_half_a_correction_is_half_a_correction():
    whole = vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased())
    half = vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased(strength=0.5))
    state = whole.update(whole.init(N), RESIDUAL)
    np.testing.assert_allclose(
        half.weights(state) ** 2, whole.weights(state), rtol=1e-13
    )


def test_no_correction_leaves_sampling_as_it_is_and_asks_nothing_of_draws():
    plain = vrba.Sampling(vrba.Quadratic())
    none = vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased(0))
    state = plain.update(plain.init(N), RESIDUAL)
    for read in ("weights", "probability"):
        one, other = (getattr(policy, read)(state) for policy in (plain, none))
        np.testing.assert_array_equal(one, other)
    assert not none.is_unbiased() and none.objective_norm() == plain.objective_norm()
    draws = vrba.adapt.WithoutReplacement()
    dataclasses.replace(none, draws=draws)
    with pytest.raises(ValueError, match="needs draws whose expected counts"):
        dataclasses.replace(none, draws=draws, correction=vrba.Unbiased())


def test_weights_may_start_at_their_cap():
    cap = vrba.adapt.GrowingCap(2.0, 3.0, start=2)
    policy = vrba.Weighting(vrba.Quadratic(), smoothing=vrba.Smoothing(cap, 0.1))
    np.testing.assert_array_equal(policy.init(3).weight, 2.0)


def test_floor_keeps_every_point():
    policy = vrba.Sampling(vrba.Quadratic(), smoothing=PLAIN)
    state = policy.update(policy.init(4), np.array([0.0, 0.0, 1.0, 0.0]))
    np.testing.assert_allclose(
        policy.probability(state), [2.5e-4, 2.5e-4, 0.99925, 2.5e-4], rtol=1e-12
    )


def test_self_adaptive_climbs_the_gradient_of_its_loss():
    policy = vrba.adapt.SelfAdaptive(mask_fn=lambda x: x**3, rate=0.2, start=0.5)
    state = policy.init(N)
    gradient = jax.grad(lambda x: jnp.sum(x**3 * RESIDUAL**2))(state.multiplier)
    after = policy.update(state, RESIDUAL)
    np.testing.assert_allclose(
        after.multiplier, state.multiplier + 0.2 * gradient, rtol=1e-13
    )
    np.testing.assert_allclose(policy.weights(after) ** 2, after.multiplier**3)


def test_brdr_follows_its_definition():
    policy, rng = vrba.adapt.BRDR(0.9, 0.8), np.random.default_rng(7)
    state, weight, moment = policy.init(N), np.ones(N), np.zeros(N)
    for step in range(1, 30):
        residual = rng.normal(size=N) * 0.9**step
        state = policy.update(state, residual)
        moment = 0.9 * moment + 0.1 * residual**4
        decay = residual**2 / np.sqrt(moment / (1 - 0.9**step))
        weight = 0.8 * weight + 0.2 * decay / decay.mean()
    np.testing.assert_allclose(state.weight, weight, rtol=1e-12)


def test_local_average_spreads_a_spike():
    policy = LocalAverage(
        vrba.Sampling(vrba.Quadratic(), smoothing=PLAIN), neighbour_ids=RING
    )
    spike = jnp.zeros(N).at[5].set(3.0)
    tilt = policy.tilt(policy.update(policy.init(N), spike))
    np.testing.assert_allclose(tilt[jnp.asarray([4, 5, 6])], 1 / 3, rtol=1e-12)
    unvisited = policy.update(policy.init(N), spike)
    again = policy.update(unvisited, jnp.zeros(1), jnp.asarray([4]))
    assert again.size[5] == 3.0


def test_local_average_finds_the_nearest_points():
    points = np.stack([np.arange(10.0), np.zeros(10)], axis=1)
    policy = LocalAverage(vrba.Weighting(vrba.Quadratic()), 3)
    state = policy.init(10, points=points)
    assert set(np.asarray(state.near[4]).tolist()) == {3, 4, 5}
    far = policy.init(10, points=points * [1e-6, 1] + [0, 5])  # other units
    assert np.array_equal(np.sort(far.near), np.sort(state.near))
    listed = LocalAverage(policy.policy, neighbour_ids=state.near)
    spike = jnp.zeros(10).at[4].set(1.0)
    tilts = [
        one.tilt(one.update(one.init(10, points=points), spike))
        for one in (policy, listed)
    ]
    np.testing.assert_array_equal(*tilts)
    for count, places, name in ((3, None, "points"), (11, points, "neighbours")):
        with pytest.raises(ValueError, match=name):
            LocalAverage(policy.policy, count).init(10, points=places)


AROUND = {
    "LocalAverage": LocalAverage(BUILT["Sampling"], neighbour_ids=RING),
    "Causal": vrba.adapt.Causal(BUILT["Sampling"]),
    "TimeWindowWeights": vrba.adapt.TimeWindowWeights(BUILT["Sampling"]),
    "Capped": vrba.adapt.Capped(BUILT["Sampling"]),
}


@pytest.mark.parametrize("name", AROUND)
def test_inner_state_is_that_of_the_wrapped_policy(name):
    points = jnp.linspace(0, 1, N)[:, None]
    inner = AROUND[name].inner_state(AROUND[name].init(N, points=points))
    assert eqx.tree_equal(inner, BUILT["Sampling"].init(N))


def test_every_policy_around_another_is_looked_into():
    assert {kind.__name__ for kind in concrete("vrba.adapt", AbstractWrapper)} == set(
        AROUND
    )


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: vrba.Smoothing(memory=1.0), "memory"),
        (lambda: vrba.Smoothing(rate=0), "rate"),
        (lambda: vrba.Smoothing(mix=1.1), "mix"),
        (lambda: vrba.Smoothing(vrba.adapt.GrowingCap(), rate=11), "rate"),
        (
            lambda: vrba.Smoothing(vrba.adapt.GrowingCap(), is_normalised=False),
            "normalised",
        ),
        (lambda: vrba.adapt.GrowingCap(3, 2), "last"),
        (lambda: vrba.adapt.GrowingCap(num_stage=0), "num_stage"),
        (lambda: vrba.adapt.GrowingCap(start=0), "start"),
        (lambda: vrba.adapt.GrowingCap(start=11), "start"),
        (lambda: vrba.Unbiased(-0.1), "strength"),
        (lambda: vrba.Unbiased(1.1), "strength"),
        (lambda: vrba.Sampling(vrba.Quadratic(), floor=1), "floor"),
        (lambda: vrba.Hybrid(vrba.Quadratic(), floor=-1), "floor"),
        (lambda: vrba.Weighting(vrba.Quadratic(), scale_memory=1), "scale_memory"),
        (lambda: vrba.adapt.SelfAdaptive(rate=0), "rate"),
        (lambda: vrba.adapt.SelfAdaptive(start=0), "mask_fn"),
        (lambda: vrba.adapt.BRDR(moment_memory=1), "moment_memory"),
        (lambda: vrba.presets.rad(k=-1), "k=-1"),
        (lambda: vrba.Weighting(vrba.Quadratic()).init((2, 3, 4)), "Hybrid"),
        (lambda: vrba.Hybrid(vrba.Quadratic()).init(4), "num_funcs"),
        (lambda: vrba.Weighting(vrba.Quadratic()).init(4, dtype=int), "dtype"),
        (
            lambda: LocalAverage(vrba.adapt.BRDR(), neighbour_ids=np.array([[3]])),
            "neighbour_ids",
        ),
        (lambda: LocalAverage(vrba.adapt.BRDR(), 0), "neighbours"),
    ],
)
def test_bad_settings_are_named(build, name):
    with pytest.raises(ValueError, match=name):
        build()


def test_float64_that_would_be_float32_is_refused():
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64"):
        vrba.Weighting(vrba.Quadratic()).init(4, dtype="float64")


@pytest.mark.parametrize("name", KINDS)
def test_float32_stays_float32(name):
    policy = BUILT[name]
    state = policy.update(init(policy, dtype=jnp.float32), RESIDUAL.astype("float32"))
    floats = [a for a in arrays(state) if jnp.issubdtype(a.dtype, jnp.floating)]
    assert {leaf.dtype for leaf in floats} == {jnp.dtype("float32")}
    assert policy.weights(state).dtype == policy.probability(state).dtype == "float32"


def test_a_potential_flat_up_to_the_peak_tilts_nothing():
    policy = vrba.Weighting(
        vrba.adapt.Custom(lambda s: jnp.maximum(s - 1, 0.0) ** 2),
        vrba.adapt.Fixed(100.0),
    )
    state = policy.update(policy.init(N), RESIDUAL)
    np.testing.assert_allclose(policy.tilt(state), 1 / N, rtol=1e-12)


def test_zeros_do_not_disturb_a_carried_scale():
    policy = vrba.Weighting(vrba.Exponential(), scale_memory=0.9)
    state = policy.update(policy.init(N), 1e-6 * RESIDUAL)
    after = policy.update(state, jnp.zeros(N))
    np.testing.assert_array_equal(after.scale.temperature, state.scale.temperature)
    equations = vrba.Weighting(vrba.Exponential(), scale_memory=0.9)
    both = jnp.stack([RESIDUAL, 1e-6 * RESIDUAL], axis=1)
    state = equations.update(equations.init((N, 2)), both)
    after = equations.update(state, both.at[:, 1].set(jnp.nan))
    assert after.scale.temperature[1] == state.scale.temperature[1]
    assert after.num_rejected == N


@pytest.mark.parametrize("name", KINDS)
def test_a_bad_copy_of_an_id_does_not_hide_the_good_one(name):
    policy, ids = BUILT[name], jnp.asarray([0, 0, 1])
    start = policy.update(init(policy), RESIDUAL)
    good = policy.update(start, jnp.asarray([5.0, 5.0, 1.0]), ids)
    for copies in ([5.0, jnp.nan, 1.0], [jnp.nan, 5.0, 1.0]):
        state = policy.update(start, jnp.asarray(copies), ids)
        np.testing.assert_allclose(
            policy.weights(state), policy.weights(good), rtol=1e-12
        )
        assert state.num_rejected == 1


def test_integers_count_as_numbers(keys):
    policy = vrba.Weighting(vrba.Quadratic())
    whole = np.arange(N)
    state = policy.update(policy.init(N), whole)
    np.testing.assert_array_equal(
        policy.loss(state, jnp.asarray(whole)),
        policy.loss(state, jnp.asarray(whole, float)),
    )
    assert policy.draw(state, np.int64(5), key=next(keys)).shape == (5,)


def test_local_average_counts_only_neighbours_it_knows():
    policy = LocalAverage(
        vrba.Sampling(vrba.Quadratic(), smoothing=PLAIN), neighbour_ids=RING
    )
    state = policy.update(policy.init(N), jnp.ones(3), jnp.asarray([3, 4, 9]))
    np.testing.assert_allclose(state.inner.scale.peak, 1, rtol=1e-14)
    np.testing.assert_allclose(state.inner.weight, 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (
            lambda: vrba.Sampling(
                vrba.Quadratic(),
                correction=vrba.Unbiased(),
                draws=vrba.adapt.WithoutReplacement(),
            ),
            "Stratified",
        ),
        (lambda: vrba.adapt.BRDR(objective=vrba.adapt.FirstPowerLoss()), "SquaredLoss"),
        (
            lambda: vrba.adapt.SelfAdaptive(objective=vrba.adapt.ExactSquaredLoss()),
            "SquaredLoss",
        ),
        (
            lambda: LocalAverage(vrba.Hybrid(vrba.Quadratic()), neighbour_ids=RING),
            "Hybrid",
        ),
        (lambda: vrba.presets.rba(eta=float("inf")), "rate"),
        (lambda: BUILT["Weighting"].init((N, 2), base=np.ones((N, 2))), "base"),
        (
            lambda: BUILT["Weighting"].update(
                BUILT["Weighting"].init(N), jnp.ones(0), np.zeros(0, int)
            ),
            "empty",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(build, name):
    with pytest.raises(ValueError, match=name):
        build()


class TestHybrid:
    """One tilt over functions and points, taken apart."""

    shape = (6, 5, 4)
    residual = jnp.asarray(np.random.default_rng(8).normal(size=shape))

    @pytest.mark.parametrize(
        "potential",
        [
            cls()
            for cls in concrete("vrba.adapt", vrba.adapt.AbstractPotential)
            if cls not in (vrba.adapt.Linear, vrba.adapt.Custom)
        ],
        ids=lambda p: type(p).__name__,
    )
    def test_a_larger_residual_is_drawn_more_often(self, potential):
        policy = Hybrid(potential)
        residual = jnp.abs(self.residual[:1]) * jnp.ones((6, 1, 1))
        residual = residual.at[2].mul(10)
        state = policy.update(policy.init(self.shape), residual)
        probability = policy.probability(state)
        others = np.delete(np.asarray(probability), 2)
        assert probability[2] > 1.01 * others.max()
        np.testing.assert_allclose(others, others[0], rtol=1e-12)

    def test_the_published_score_is_blind_to_scale(self):
        policy = Hybrid(vrba.Quadratic(), score=vrba.adapt.FlatnessScore())
        residual = jnp.abs(self.residual).at[2].mul(1000)
        before = policy.update(policy.init(self.shape), jnp.abs(self.residual))
        after = policy.update(policy.init(self.shape), residual)
        np.testing.assert_allclose(
            policy.probability(before), policy.probability(after), rtol=1e-12
        )
        flat = jnp.abs(self.residual).at[4].set(1e-9)
        state = policy.update(policy.init(self.shape), flat)
        assert jnp.argmax(policy.probability(state)) == 4
        peaked = jnp.full(self.shape, 0.1).at[3, 0, 0].set(1000.0)
        state = policy.update(policy.init(self.shape), peaked)
        assert jnp.argmin(policy.probability(state)) == 3

    def test_marginal_times_conditional_is_the_joint_tilt(self):
        policy = Hybrid(vrba.Exponential(), smoothing=PLAIN, floor=0.0)
        state = policy.update(policy.init(self.shape), self.residual)
        flat = vrba.Sampling(vrba.Exponential(), smoothing=PLAIN, floor=0.0)
        joint = flat.update(flat.init(120), self.residual.reshape(-1))
        product = policy.probability(state)[:, None, None] * policy.weights(state) / 20
        np.testing.assert_allclose(
            product.reshape(-1), flat.probability(joint), rtol=1e-12
        )

    def test_weights_have_mean_one_in_every_function(self):
        policy = Hybrid(vrba.Quadratic())
        state = policy.update(policy.init(self.shape), self.residual)
        np.testing.assert_allclose(
            policy.weights(state).mean(axis=(1, 2)), 1, rtol=1e-13
        )

    def test_functions_are_keyed_by_id(self, keys):
        policy = Hybrid(vrba.adapt.Cosh())
        start = policy.init(self.shape)
        scale = policy.scale(start, self.residual)
        full = policy.update(start, self.residual)
        batches = start
        for ids in (np.array([4, 0]), np.array([1, 5, 3]), np.array([2])):
            batches = policy.update(batches, self.residual[ids], ids, scale=scale)
        np.testing.assert_allclose(batches.weight, full.weight, rtol=1e-13)
        drawn = policy.draw(full, 4, key=next(keys))
        assert len(set(drawn.tolist())) == 4
        weight = policy.weights(full, drawn)
        assert weight.shape == (4, 5, 4)
        assert policy.loss(full, self.residual[drawn], drawn).shape == ()

    def test_channels_are_one_axis_more(self):
        policy = Hybrid(vrba.Quadratic())
        twice = jnp.stack([self.residual, self.residual], axis=-1)
        joint = policy.update(policy.init(self.shape), twice)
        alone = policy.update(policy.init(self.shape), self.residual)
        np.testing.assert_allclose(joint.weight, alone.weight, rtol=1e-13)

    def test_bad_residuals_do_not_spread(self):
        policy = Hybrid(vrba.Exponential(), score=vrba.adapt.FlatnessScore())
        start = policy.init(self.shape)
        bad = self.residual.at[1, 2, 3].set(jnp.nan).at[5].set(jnp.inf)
        state = policy.update(start, bad)
        assert state.num_rejected == 21
        np.testing.assert_array_equal(state.weight[5], start.weight[5])
        assert jnp.all(jnp.isfinite(policy.probability(state)))

    def test_a_base_over_points_enters_the_loss(self):
        policy = Hybrid(vrba.Quadratic())
        base = np.array([[1.0, 3.0], [1.0, 3.0]])
        residual = jnp.asarray([[1.0, 0.0], [1.0, 0.0]])
        state = policy.init((2, 2), base=base)
        np.testing.assert_allclose(policy.loss(state, residual), 0.25, rtol=1e-14)

    def test_functions_without_weight_or_base_have_finite_weights(self):
        policy = Hybrid(vrba.Quadratic(), smoothing=PLAIN)
        base = np.ones(self.shape)
        base[0] = 0
        state = policy.init(self.shape, base=base)
        assert jnp.all(jnp.isfinite(policy.weights(state)))
        state = policy.update(policy.init(self.shape), self.residual.at[3].set(0.0))
        assert jnp.all(jnp.isfinite(policy.weights(state)))
