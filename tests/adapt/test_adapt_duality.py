"""Both sides of the risk, its limits, and each slip of the paper pinned down."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

import vrba
from tests.adapt.cases import ADAPTIVE, POTENTIALS, tilt

RNG = np.random.default_rng(11)
SIZE = np.abs(RNG.normal(size=7))
weights = hnp.arrays(np.float64, 7, elements=st.floats(1e-3, 1))
levels = st.floats(0.05, 20)


@pytest.mark.parametrize("name", list(POTENTIALS))
@given(size=hnp.arrays(np.float64, 7, elements=st.floats(0, 10)), level=levels)
@example(  # the smallest size is the shift up to rounding, where `Power` is steep
    size=np.array([7.4375, 2.46875, 6.875, 7.875, 3.96875, 0.59765625, 6.53125]),
    level=5.61328125,
)
def test_gap_is_zero_at_the_optimal_tilt(name, size, level):
    """Up to rounding: of the arithmetic, and of the shift, which changes the tilt of a
    point beside it by the slope there, and the gap by the square of that."""
    potential = POTENTIALS[name]
    both = vrba.adapt.duality(potential, size, level)
    scale = 1 + np.abs(both.primal) + level
    beside = jnp.asarray([0, np.spacing(np.abs(both.shift)) / level])
    jump = np.diff(jax.vmap(potential.slope)(beside))[0] / 7
    assert abs(both.gap) <= 1e-11 * scale + level * jump**2
    np.testing.assert_allclose(np.mean(both.weight), 1, rtol=1e-12)


@pytest.mark.parametrize("name", list(POTENTIALS))
@given(other=weights, level=levels)
def test_every_other_tilt_stays_below(name, other, level):
    both = vrba.adapt.duality(POTENTIALS[name], SIZE, level, tilt=other)
    assert both.gap >= -1e-11 * (1 + abs(both.primal))


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_primal_is_the_infimum_over_the_shift(name):
    potential = ADAPTIVE[name]
    base = RNG.dirichlet(np.ones(7))
    for level in (0.2, 1.5):
        both = vrba.adapt.duality(potential, SIZE, level, base=base)

        @jax.jit
        def primal(shift, level=level, base=base):
            value = potential.value((SIZE - shift) / level)
            return shift + level * jnp.sum(base * value)

        found = minimize_scalar(
            lambda shift, fn=primal: float(fn(shift)),
            bounds=(float(both.shift) - level, float(both.shift) + level),
            method="bounded",
            options={"xatol": 1e-10},
        )
        np.testing.assert_allclose(float(both.primal), found.fun, rtol=1e-9)


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_risk_tends_to_the_maximum_as_the_temperature_falls(name):
    """Slip (c): with `q >= 0` on a pool no superlinear risk has another limit."""
    risks = [
        float(vrba.adapt.duality(ADAPTIVE[name], SIZE, t).primal) for t in (1e-6, 1e-9)
    ]
    np.testing.assert_allclose(risks[1], SIZE.max(), rtol=2e-4)
    assert abs(risks[1] - SIZE.max()) < abs(risks[0] - SIZE.max())


def test_linear_risk_is_the_mean():
    both = vrba.adapt.duality(vrba.adapt.Linear(), SIZE, 0.3)
    np.testing.assert_allclose(both.primal, SIZE.mean(), rtol=1e-14)
    assert vrba.adapt.duality(vrba.adapt.Linear(), SIZE, 0.3, tilt=SIZE).gap == jnp.inf


def test_divergence_need_not_vanish_at_the_base():
    both = vrba.adapt.duality(vrba.Quadratic(), SIZE, 2.0, tilt=np.ones(7))
    np.testing.assert_allclose(both.dual, SIZE.mean() - 2.0 * 0.25, rtol=1e-13)


def test_slip_a_the_divergence_enters_with_a_minus():
    """Printed with a plus, the dual would exceed the primal value."""
    level, weight = 0.7, SIZE / SIZE.mean()
    price = float(jnp.mean(vrba.Exponential().conjugate(jnp.asarray(weight))))
    both = vrba.adapt.duality(vrba.Exponential(), SIZE, level, tilt=weight)
    np.testing.assert_allclose(
        both.dual, np.mean(weight * SIZE) - level * price, rtol=1e-13
    )
    assert np.mean(weight * SIZE) + level * price > both.primal


def test_slip_a_the_gibbs_tilt_needs_its_temperature():
    for level in (0.5, 3.0):
        gibbs = np.exp(SIZE / level)
        bare = np.exp(SIZE)
        assert (
            vrba.adapt.duality(vrba.Exponential(), SIZE, level, tilt=gibbs).gap < 1e-13
        )
        assert vrba.adapt.duality(vrba.Exponential(), SIZE, level, tilt=bare).gap > 1e-2


def test_slip_b_the_entropic_risk_and_what_was_printed():
    mp.mp.dps = 60
    for level in (1.0, 1e-2):
        mean = sum(mp.exp(mp.mpf(r) / level) for r in SIZE) / 7
        risk = level * mp.log(mean)
        both = vrba.adapt.duality(vrba.Exponential(), SIZE, level)
        np.testing.assert_allclose(float(both.primal), float(risk), rtol=1e-13)
        printed = level * mp.log(1 + mp.log(mean))
        got = vrba.adapt.derived_functional(vrba.Exponential(), SIZE, level)
        np.testing.assert_allclose(float(got), float(printed), rtol=1e-12)
    assert (
        vrba.adapt.derived_functional(vrba.Exponential(), SIZE, 1e-6)
        < 1e-3 * SIZE.max()
    )


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_slip_c_powers_derive_their_norm(p):
    norm = np.mean(SIZE**p) ** (1 / p)
    _, scale = tilt(vrba.adapt.Power(p), vrba.adapt.SolveTemperature(), SIZE)
    best = float(scale.temperature)
    at_best = vrba.adapt.derived_functional(vrba.adapt.Power(p), SIZE, best)
    np.testing.assert_allclose(float(at_best), norm, rtol=1e-12)
    for factor in (0.3, 0.9, 1.1, 4.0):
        lower = vrba.adapt.derived_functional(vrba.adapt.Power(p), SIZE, factor * best)
        assert float(lower) < norm


def test_slip_c_the_standard_deviation_needs_negative_weights():
    """Unclipped, the quadratic functional tends to it; with `q >= 0` it does not."""
    level = 1e-4
    spread = SIZE.std()
    mean = SIZE.mean()
    unclipped = mean + np.mean((SIZE - mean) ** 2) / level - level / 4
    np.testing.assert_allclose(np.sqrt(level * unclipped), spread, rtol=1e-3)
    got = float(vrba.adapt.derived_functional(vrba.Quadratic(), SIZE, level))
    np.testing.assert_allclose(got, np.sqrt(level * SIZE.max()), rtol=1e-2)


@pytest.mark.parametrize("name", list(POTENTIALS))
@given(size=hnp.arrays(np.float64, 7, elements=st.floats(0, 5)))
def test_slip_d_no_tilt_lowers_the_variance(name, size):
    weight, _ = tilt(POTENTIALS[name], vrba.LogAnnealing(), size)
    assert np.var(size * weight) >= np.var(size) * (1 - 1e-9) - 1e-12


@given(
    size=hnp.arrays(np.float64, 7, elements=st.floats(0, 5)),
    rises=hnp.arrays(np.float64, 7, elements=st.floats(0, 5)),
    chances=hnp.arrays(np.float64, 7, elements=st.floats(0.1, 5)),
)
def test_slip_d_no_nondecreasing_tilt_lowers_the_variance(size, rises, chances):
    """Of whatever form, and over any base; by its proof in docs/theory.md."""
    base, size = chances / chances.sum(), np.sort(size)
    weight = 1e-3 + np.cumsum(rises)
    weight /= base @ weight
    covariance = lambda a, b: base @ (a * b) - (base @ a) * (base @ b)
    more = size * (weight - 1)
    room = 1e-9 * (1 + covariance(size * weight, size * weight))
    assert covariance(size, more) >= -room
    tilted = covariance(size * weight, size * weight)
    assert tilted >= covariance(size, size) - room


def test_slip_e_the_limit_variance_of_the_self_normalised_estimator():
    weight, _ = tilt(vrba.Quadratic(), vrba.adapt.SolveTemperature(), SIZE)
    mean = np.mean(weight * SIZE)
    limit = np.mean(weight**2 * (SIZE - mean) ** 2)
    rng, num_draws = np.random.default_rng(0), 2000
    ids = rng.integers(0, 7, size=(4000, num_draws))
    estimate = np.sum(weight[ids] * SIZE[ids], 1) / np.sum(weight[ids], 1)
    error = np.sqrt(2 / 4000)  # of a variance from 4,000 repeats
    np.testing.assert_allclose(num_draws * estimate.var(), limit, rtol=4 * error)
    assert abs(num_draws * estimate.var() / np.var(SIZE * weight) - 1) > 10 * error


def collinear(a, b):
    return float(jnp.vdot(a, b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b)))


@pytest.mark.parametrize("potential", [vrba.Quadratic(), vrba.adapt.Power(3)])
@pytest.mark.parametrize(
    "objective",
    [
        vrba.adapt.SquaredLoss(),
        vrba.adapt.ExactSquaredLoss(),
        vrba.adapt.FirstPowerLoss(),
    ],
    ids=lambda o: type(o).__name__,
)
@pytest.mark.parametrize("kind", [vrba.Weighting, vrba.Sampling])
def test_slip_f_the_norm_that_is_descended(potential, objective, kind):
    """The gradient of the loss points along that of the L^p norm it names."""
    policy = kind(
        potential,
        vrba.adapt.Fixed(1.0),
        vrba.Smoothing(memory=0.0, rate=1.0, mix=1.0, is_normalised=False),
        objective=objective,
        floor=0.0,
    )
    matrix = jnp.asarray(np.random.default_rng(1).normal(size=(7, 3)))
    params = jnp.asarray([0.3, -1.0, 0.7])
    residual_fn = lambda params: jnp.tanh(matrix @ params) + 0.2
    state = policy.update(policy.init(7), residual_fn(params))

    def expected_loss(params):
        weight = policy.weights(state)
        each = jax.vmap(lambda w, r: objective.mean(w[None], r[None]))
        return jnp.sum(policy.probability(state) * each(weight, residual_fn(params)))

    exponent = float(policy.objective_norm().removeprefix("L").split(" ")[0])
    norm = lambda params: jnp.mean(jnp.abs(residual_fn(params)) ** exponent)
    alike = collinear(jax.grad(expected_loss)(params), jax.grad(norm)(params))
    np.testing.assert_allclose(alike, 1, atol=1e-12)
    other = lambda params: jnp.mean(jnp.abs(residual_fn(params)) ** (exponent + 1))
    assert collinear(jax.grad(expected_loss)(params), jax.grad(other)(params)) < 0.9999


def test_slip_f_published_settings_say_three_and_four():
    assert vrba.Sampling(vrba.Quadratic()).objective_norm() == "L3 norm"
    assert vrba.presets.rba().objective_norm() == "L4 norm"
    assert vrba.presets.uniform().objective_norm() == "L2 norm"
    unbiased = vrba.Sampling(vrba.Quadratic(), correction=vrba.Unbiased())
    assert unbiased.objective_norm() == "L2 norm"
    assert "Exponential" in vrba.Weighting(vrba.Exponential()).objective_norm()


def test_slip_g_pure_noise_has_a_signal_until_it_is_debiased():
    """Its ratio over `b` partitions is `1 / sqrt(b)`; less `s^2 / b` it is zero."""
    num_parts, rng = 25, np.random.default_rng(12)
    gradients = rng.normal(size=(num_parts, 40_000))
    mean = np.sum(gradients.mean(axis=0) ** 2)
    spread = np.sum(gradients.var(axis=0, ddof=1))
    error = np.sqrt(2 / 40_000)  # of a mean of so many squares
    np.testing.assert_allclose(mean / spread, 1 / num_parts, rtol=5 * error)
    debiased = (mean - spread / num_parts) / spread
    np.testing.assert_allclose(debiased, 0, atol=5 * error / num_parts)


def test_slip_h_the_bound_of_the_weights():
    """`eta / (1 - gamma)`, reached by a point that always has the largest residual."""
    policy = vrba.presets.rba(eta=0.05, gamma=0.9)
    state = policy.init(3)
    residual = jnp.asarray([1.0, 0.2, 0.0])
    for _ in range(300):
        state = policy.update(state, residual)
    np.testing.assert_allclose(state.weight[0], 0.5, rtol=1e-12)
    assert jnp.all(state.weight <= 0.5 * (1 + 1e-12))


def test_a_tilt_outside_the_base_is_worth_nothing():
    base = np.array([1.0, 0, 1, 1, 1, 1, 1])
    assert (
        vrba.adapt.duality(vrba.Quadratic(), SIZE, 1.0, np.ones(7), base).dual
        == -jnp.inf
    )


def test_corrections_leave_the_rest_of_the_tilt():
    half = vrba.Weighting(vrba.Quadratic(), correction=vrba.Unbiased(0.5))
    assert half.objective_norm() == "L4.5 norm"
    none = vrba.Weighting(vrba.Quadratic(), correction=vrba.Unbiased(0))
    assert none.objective_norm() == "L5 norm"


def test_duality_takes_integers_and_refuses_what_is_not_finite():
    whole = vrba.adapt.duality(vrba.Quadratic(), np.arange(1, 5), 0.5)
    real = vrba.adapt.duality(vrba.Quadratic(), np.arange(1.0, 5), 0.5)
    np.testing.assert_allclose(whole.primal, real.primal, rtol=1e-14)
    with pytest.raises(Exception, match="finite"):
        vrba.adapt.duality(vrba.Quadratic(), SIZE * np.nan, 1.0)


def test_duality_refuses_what_has_no_minimum():
    with pytest.raises(ValueError, match="jumps at zero"):
        vrba.adapt.duality(vrba.adapt.Custom(lambda s: 2 * s + s**2), SIZE, 1.0)
    with pytest.raises(ValueError, match="never exceeds 1"):
        vrba.adapt.duality(vrba.adapt.Custom(lambda s: jnp.sqrt(1 + s**2)), SIZE, 1.0)
    for temperature in (-1.0, np.inf, np.nan):
        with pytest.raises(Exception, match="`temperature` must be positive and"):
            vrba.adapt.duality(vrba.Quadratic(), SIZE, temperature)


@pytest.mark.parametrize("base", [[-3.0, 1, 1], [0.0, 0, 0], [np.nan, 1, 1], [1.0, 1]])
def test_duality_refuses_a_base_that_is_no_distribution(base, as_a_user):
    size = np.array([1.0, 2.0, 4.0])
    with pytest.raises(Exception, match="`base` must"):
        vrba.adapt.duality(vrba.Quadratic(), size, 1.0, base=np.array(base))
