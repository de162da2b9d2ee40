"""Measures against closed forms and independent computations."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vrba import Quadratic, Sampling, diagnose

NUM_PARAMS = 40


def noisy_gradients(random, num_parts, *, signal, noise):
    """Rows `g + noise * xi / sqrt(n)` with `|g| = signal`: the true ratio is
    `signal / noise`."""
    direction = random.normal(size=NUM_PARAMS)
    direction *= signal / np.linalg.norm(direction)
    scatter = random.normal(size=(num_parts, NUM_PARAMS)) / np.sqrt(NUM_PARAMS)
    return direction + noise * scatter


class TestSignalToNoise:
    @pytest.mark.parametrize(
        ("signal", "excess"), [(0.0, np.sqrt(2)), (0.5, 1.0), (2.0, 1.0)]
    )
    def test_estimates_agree_with_the_known_ratio_within_their_error(
        self, signal, excess
    ):
        random = np.random.default_rng(1)
        found = [
            diagnose.signal_to_noise(
                noisy_gradients(random, 100, signal=signal, noise=1.0)
            )
            for _ in range(200)
        ]
        debiased = np.array([one.debiased for one in found])
        stated = np.mean([one.debiased_error for one in found])
        # The mean of 200 estimates is within four of its own standard errors.
        assert abs(debiased.mean() - signal**2) < 4 * debiased.std() / np.sqrt(200)
        # And the error that each one states is the scatter of all; of pure noise the
        # jackknife of a square is known to be too large.
        assert stated == pytest.approx(excess * debiased.std(), rel=0.2)
        raw = np.array([one.ratio for one in found])
        expected = np.sqrt(signal**2 + 1 / 100)
        assert raw.mean() == pytest.approx(expected, rel=0.05)

    def test_linear_model_with_known_noise(self):
        """`r = x'theta - y` with `y = x'theta0 + e`: the gradient of `mean r**2 / 2`
        over `m` points has mean `theta - theta0` and covariance as Wick's formula says,
        for `x` standard normal."""
        random = np.random.default_rng(2)
        dim, size, num_parts, deviation = 3, 50, 400, 0.5
        offset = np.array([0.4, -0.2, 0.1])
        x = random.normal(size=(num_parts, size, dim))
        residual = x @ offset - deviation * random.normal(size=(num_parts, size))
        gradients = np.mean(residual[..., None] * x, axis=1)
        square = offset @ offset
        # Var of x_i (x'd - e): (|d|^2 + d_i^2 + deviation^2), summed over i.
        noise = (dim * square + square + dim * deviation**2) / size
        found = diagnose.signal_to_noise(gradients)
        assert abs(found.debiased - square / noise) < 3 * found.debiased_error
        assert abs(found.ratio - np.sqrt(square / noise)) < 3 * found.ratio_error

    def test_pure_noise_is_at_the_floor(self):
        random = np.random.default_rng(3)
        rows = random.normal(size=(64, 5000))
        found = diagnose.signal_to_noise(rows)
        assert found.floor == pytest.approx(1 / 8)
        assert found.ratio == pytest.approx(found.floor, rel=0.05)
        assert abs(found.debiased) < 4 * found.debiased_error

    def test_unit_length_sees_directions_only(self):
        random = np.random.default_rng(4)
        rows = noisy_gradients(random, 30, signal=1.0, noise=0.5)
        lengths = random.uniform(0.1, 10, size=(30, 1))
        plain = diagnose.signal_to_noise(rows, has_unit_length=True)
        scaled = diagnose.signal_to_noise(lengths * rows, has_unit_length=True)
        assert scaled.ratio == pytest.approx(plain.ratio, rel=1e-12)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        by_hand = np.linalg.norm(unit.mean(0)) / np.sqrt(unit.var(0, ddof=1).sum())
        assert plain.ratio == pytest.approx(by_hand, rel=1e-12)

    def test_jackknife_is_that_of_leaving_rows_out(self):
        rows = noisy_gradients(np.random.default_rng(5), 12, signal=1.0, noise=1.0)
        found = diagnose.signal_to_noise(rows)
        without = [
            diagnose.signal_to_noise(np.delete(rows, k, axis=0)).ratio
            for k in range(12)
        ]
        by_hand = np.sqrt(11 / 12 * np.sum((without - np.mean(without)) ** 2))
        assert found.ratio_error == pytest.approx(by_hand, rel=1e-10)

    def test_scale_and_size_do_not_matter(self):
        rows = noisy_gradients(np.random.default_rng(6), 20, signal=1.0, noise=1.0)
        tiny = diagnose.signal_to_noise(1e-200 * rows)
        assert tiny.ratio == pytest.approx(diagnose.signal_to_noise(rows).ratio)
        assert diagnose.signal_to_noise(np.zeros((5, 2))).ratio == 0.0

    def test_too_few_parts_are_refused(self):
        with pytest.raises(ValueError, match="at least three rows, got 2"):
            diagnose.signal_to_noise(np.ones((2, 4)))

    def test_float32_and_jax_arrays(self):
        rows = noisy_gradients(np.random.default_rng(7), 20, signal=1.0, noise=1.0)
        single = diagnose.signal_to_noise(jnp.asarray(rows, jnp.float32))
        assert single.ratio == pytest.approx(
            diagnose.signal_to_noise(rows).ratio, rel=1e-5
        )


class TestVariance:
    def test_known_distribution(self):
        """Sizes uniform on [0, 1], tilted in proportion: all moments are fractions."""
        size = (np.arange(200_000) + 0.5) / 200_000
        found = diagnose.residual_variance(size, tilt=size)
        assert found.of_size == pytest.approx(1 / 12, rel=1e-8)
        assert found.of_square == pytest.approx(1 / 5 - 1 / 9, rel=1e-8)
        assert found.of_size_tilted == pytest.approx(1 / 2 - 4 / 9, rel=1e-8)
        assert found.of_square_tilted == pytest.approx(1 / 3 - 1 / 4, rel=1e-8)
        # r w = 2 r^2 and E_q r = 2 / 3.
        sums = diagnose.estimator_variance(size, tilt=size)
        assert sums.plain == pytest.approx(1 / 12, rel=1e-8)
        assert sums.weighted == pytest.approx(4 * (1 / 5 - 1 / 9), rel=1e-8)
        normalised = 4 * (1 / 5 - 4 / 3 / 4 + 4 / 9 / 3)
        assert sums.normalised == pytest.approx(normalised, rel=1e-7)

    def test_estimators_scatter_as_they_say(self):
        random = np.random.default_rng(8)
        size = random.exponential(size=2000)
        stated = diagnose.estimator_variance(size, tilt=size)
        ids = random.integers(2000, size=(4000, 500))
        weight = size / size.mean()
        drawn, weights = size[ids], weight[ids]
        weighted = np.mean(weights * drawn, axis=1)
        normalised = np.sum(weights * drawn, axis=1) / np.sum(weights, axis=1)
        rtol = 4 * np.sqrt(2 / 4000)
        assert 500 * drawn.mean(1).var() == pytest.approx(stated.plain, rel=rtol)
        assert 500 * weighted.var() == pytest.approx(stated.weighted, rel=rtol)
        # The ratio has a bias of order 1/500 as well.
        assert 500 * normalised.var() == pytest.approx(stated.normalised, rel=2 * rtol)

    @settings(max_examples=50, deadline=None)
    @given(
        arrays(float, st.integers(2, 30), elements=st.floats(0.01, 10)),
        st.floats(0.1, 3),
    )
    def test_an_increasing_tilt_never_lowers_the_variance(self, size, power):
        """The condition that the paper prints for a lower error never holds."""
        assume(np.ptp(size) > 1e-6 * np.max(size))  # else both are rounding
        found = diagnose.estimator_variance(size, tilt=size**power)
        assert found.weighted >= found.plain * (1 - 1e-9)

    def test_equal_sizes_have_no_variance(self):
        size = np.full(11, 0.01)
        found = diagnose.estimator_variance(size, tilt=size**0.1)
        assert max(found.plain, found.weighted) <= (np.finfo(float).eps * 0.01) ** 2


class TestConcentration:
    def test_extremes(self):
        even = diagnose.measure_concentration(np.full(64, 0.3))
        assert even.effective_size == pytest.approx(64)
        assert even.entropy == pytest.approx(1)
        assert even.kl == pytest.approx(0, abs=1e-14)
        one = diagnose.measure_concentration(np.eye(64)[5])
        assert one.effective_size == pytest.approx(1)
        assert one.entropy == pytest.approx(0, abs=1e-14)
        assert one.kl == pytest.approx(np.log(64))

    def test_half_of_the_points(self):
        found = diagnose.measure_concentration(np.repeat([1.0, 0.0], 32))
        assert found.effective_size == pytest.approx(32)
        assert found.kl == pytest.approx(np.log(2))

    def test_points_that_the_base_excludes_do_not_count(self):
        base, tilt = np.repeat([1.0, 0.0], 5), np.ones(10)
        found = diagnose.measure_concentration(tilt, base)
        assert found.effective_size == pytest.approx(5)
        assert found.entropy == pytest.approx(1)

    def test_against_scipy(self):
        random = np.random.default_rng(9)
        tilt, base = random.uniform(size=(2, 100))
        found = diagnose.measure_concentration(tilt, base)
        assert found.kl == pytest.approx(scipy.stats.entropy(tilt, base), rel=1e-12)
        entropy = scipy.stats.entropy(tilt) / np.log(100)
        assert found.entropy == pytest.approx(entropy, rel=1e-12)

    @pytest.mark.parametrize(
        ("tilt", "words"),
        [
            (np.array([1.0, -1.0]), "not negative"),
            (np.zeros(3), "not all zero"),
            (np.array([1.0, np.nan]), "finite"),
        ],
    )
    def test_bad_masses_are_refused(self, tilt, words):
        with pytest.raises(ValueError, match=words):
            diagnose.measure_concentration(tilt)


def test_wasserstein_is_scipys():
    random = np.random.default_rng(10)
    points = random.normal(size=(300, 3))
    tilt, base = random.uniform(size=(2, 300))
    found = diagnose.wasserstein_distance(points, tilt, base)
    for k in range(3):
        line = points[:, k]
        expected = scipy.stats.wasserstein_distance(line, line, tilt, base)
        assert found[k] == pytest.approx(expected, rel=1e-12)


def test_wasserstein_of_a_shift_is_the_shift():
    points = np.linspace(0, 1, 101)[:, None]
    tilt, base = np.zeros(101), np.zeros(101)
    base[10], tilt[60] = 1.0, 1.0
    assert diagnose.wasserstein_distance(points, tilt, base) == pytest.approx([0.5])


def test_wasserstein_needs_as_many_masses_as_points(as_a_user):
    with pytest.raises(ValueError, match="each of 4 points, got shape \\(3,\\)"):
        diagnose.wasserstein_distance(np.zeros((4, 1)), np.ones(3))


def test_alignment_of_known_angles():
    rows = np.array([[1.0, 0.0], [0.0, 5.0], [-2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    half = np.sqrt(0.5)
    expected = [1.0, 0.0, -1.0, half, 0.0]
    assert diagnose.cosine_similarity(rows)[0] == pytest.approx(expected)
    assert diagnose.cosine_similarity(1e-8 * rows)[0] == pytest.approx(expected)


def test_complexity_of_a_plane_is_its_slope_squared():
    slopes = np.broadcast_to(np.array([[3.0, 4.0], [0.0, 2.0]]), (7, 2, 2))
    assert diagnose.geometric_complexity(slopes) == pytest.approx(9 + 16 + 4)


class TestErrors:
    def test_a_relative_error_everywhere(self):
        true = np.outer(np.linspace(1, 2, 30), np.linspace(-1, 3, 40))
        axes = [np.linspace(0, 1, 30), np.linspace(0, 1, 40)]
        found = diagnose.measure_errors(1.01 * true, true, axes)
        for value in (found.l2, found.largest, found.h1):
            assert value == pytest.approx(0.01, rel=1e-9)

    def test_h1_of_a_ripple(self):
        """`e = a sin(k x)`: H1 sees `k` times what L2 does, up to the grid's `h**2`."""
        x = np.linspace(0, 2 * np.pi, 4001)
        true, frequency = np.sin(x), 20
        found = diagnose.measure_errors(true + 1e-3 * np.sin(frequency * x), true, [x])
        assert found.l2 == pytest.approx(1e-3, rel=1e-9)
        expected = 1e-3 * np.sqrt((1 + frequency**2) / 2)
        assert found.h1 == pytest.approx(expected, rel=1e-3)

    def test_percentiles_are_relative_to_the_largest_value(self):
        true = np.full(101, -4.0)
        found = diagnose.measure_errors(true + np.arange(101) / 25, true)
        assert found.percentiles == pytest.approx({50: 0.5, 90: 0.9, 99: 0.99})
        assert found.largest == pytest.approx(1.0)
        assert found.h1 is None

    def test_what_is_outside_is_left_out(self):
        true = np.array([1.0, np.nan, 1.0])
        found = diagnose.measure_errors(np.array([1.0, 5.0, 2.0]), true)
        assert found.l2 == pytest.approx(np.sqrt(0.5))
        with pytest.raises(ValueError, match="`true` has no finite value"):
            diagnose.measure_errors(np.ones(2), np.full(2, np.nan))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_solution_that_is_not_finite_has_no_small_error(self, bad):
        x = np.linspace(0, 1, 5)
        found = diagnose.measure_errors(np.where(x > 0.5, bad, x), x, [x])
        assert found.l2 == found.largest == found.h1 == np.inf
        assert found.percentiles[99] == np.inf

    def test_h1_around_a_hole(self):
        """Slopes next to the hole are not known and left out, the others count."""
        x = np.linspace(0, 1, 41)
        true = np.where(np.abs(x - 0.5) < 0.1, np.nan, x)
        found = diagnose.measure_errors(1.02 * true, true, [x])
        assert found.h1 == pytest.approx(0.02, rel=1e-9)
        apart = np.where(np.arange(41) % 2, np.nan, x)
        assert diagnose.measure_errors(2 * apart, apart, [x]).h1 is None


def test_effective_size_is_that_of_the_policies():
    policy = Sampling(Quadratic())
    base = np.arange(1.0, 41.0)
    state = policy.init(40, base=base / base.sum())
    state = policy.update(state, np.random.default_rng(11).exponential(size=40))
    found = diagnose.measure_concentration(policy.tilt(state), policy.base(state))
    expected = float(policy.effective_size(state))
    assert found.effective_size == pytest.approx(expected, rel=1e-12)


def logged(values, every=10):
    """A log of ratios."""
    return [{"step": every * (k + 1), "snr_unit": v} for k, v in enumerate(values)]


class TestStages:
    def test_three_levels_are_three_stages(self):
        random = np.random.default_rng(12)
        levels = np.repeat([5.0, 0.1, 1.0], [20, 30, 25])
        record = logged(levels * np.exp(0.2 * random.normal(size=75)))
        assert diagnose.find_stages(record) == [
            diagnose.Stage("fitting", 10, 200),
            diagnose.Stage("transition", 210, 500),
            diagnose.Stage("diffusion", 510, 750),
        ]

    @pytest.mark.parametrize(
        ("levels", "names"),
        [
            ([1.0], ["fitting"]),
            ([1.0, 0.1], ["fitting", "transition"]),
            ([0.1, 1.0], ["fitting", "diffusion"]),
            ([4.0, 1.0, 0.1], ["fitting", "transition"]),
            ([0.1, 1.0, 4.0], ["fitting", "diffusion"]),
            ([1.0, 1.2], ["fitting"]),
            ([1.0, 5.0, 1.8], ["fitting", "diffusion"]),
        ],
    )
    def test_names_follow_the_levels(self, levels, names):
        random = np.random.default_rng(13)
        values = np.repeat(levels, 20) * np.exp(
            0.05 * random.normal(size=20 * len(levels))
        )
        assert [stage.name for stage in diagnose.find_stages(logged(values))] == names

    def test_noise_alone_has_one_stage(self):
        random = np.random.default_rng(14)
        logs = np.exp(0.5 * random.normal(size=(100, 60)))
        split = [log for log in logs if len(diagnose.find_stages(logged(log))) > 1]
        assert len(split) <= 5

    def test_split_is_the_best_of_all(self):
        random = np.random.default_rng(15)
        values = np.repeat([0.0, 3.0, 1.0], [6, 5, 8]) + random.normal(size=19)
        squares = lambda parts: sum(np.sum((p - p.mean()) ** 2) for p in parts)
        splits = [[i, j] for i in range(4, 12) for j in range(i + 4, 16)]
        best = min(splits, key=lambda s: squares(np.split(values, s)))
        assert diagnose.split_levels(values) == [0, *best]

    def test_few_or_no_measurements(self):
        assert diagnose.find_stages([{"step": 1, "snr_unit": None}]) == []
        assert diagnose.find_stages(logged([3.0])) == [
            diagnose.Stage("fitting", 10, 10)
        ]
        stages = diagnose.find_stages(logged(np.repeat([9.0, 0.1], 3000)))
        assert [s.name for s in stages] == ["fitting", "transition"]
        assert abs(stages[1].first_step - 30_010) <= 200


def test_results_are_plain_numbers():
    """What is logged as JSON."""
    found = diagnose.signal_to_noise(np.random.default_rng(0).normal(size=(9, 4)))
    parts = [
        found,
        diagnose.residual_variance(np.ones(3)),
        diagnose.measure_concentration(np.ones(3)),
    ]
    for part in parts:
        for field in dataclasses.fields(part):
            assert type(getattr(part, field.name)) in (float, int)
