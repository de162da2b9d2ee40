"""Every update rule: secant equation, symmetry, definiteness, invariance."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rooms import concrete
from vrba.optim import BFGS, SSBFGS, AbstractUpdate, Damp, Secant, Skip, SSBroyden

RULES = {cls.__name__: cls() for cls in concrete("vrba.optim", AbstractUpdate)}
EACH_RULE = pytest.mark.parametrize("name", sorted(RULES))
SEEDS = st.integers(0, 10_000)


def random_secant(seed, size=5, step_size=None, curvature=None):
    """`H`, and a secant `s = -t H g` whose curvature `y's` is positive."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size))
    inverse = half @ half.T + 0.1 * np.eye(size)
    gradient = rng.normal(size=size)
    t = rng.lognormal(sigma=2) if step_size is None else step_size
    step = -t * inverse @ gradient
    change = rng.normal(size=size)
    wanted = rng.lognormal(sigma=2) if curvature is None else curvature
    change += (wanted - change @ step) / (step @ step) * step
    arrays = (step, change, gradient, np.float64(t), inverse @ change)
    return jnp.asarray(inverse), Secant(*map(jnp.asarray, arrays))


@eqx.filter_jit
def updated(rule, inverse, secant):
    return rule.correction(secant).apply(secant, inverse)


@EACH_RULE
@given(seed=SEEDS)
def test_secant_equation_symmetry_and_positive_definiteness(name, seed):
    inverse, secant = random_secant(seed)
    new = np.asarray(updated(RULES[name], inverse, secant))
    size = np.linalg.norm(new) * np.linalg.norm(secant.gradient_change)
    error = np.linalg.norm(new @ secant.gradient_change - secant.step)
    assert error <= 1e-13 * size
    assert np.array_equal(new, new.T)
    smallest = np.linalg.eigvalsh(new)[0]
    assert smallest > -1e-13 * np.linalg.norm(new)


@EACH_RULE
def test_well_conditioned_update_is_positive_definite(name):
    for seed in range(50):
        inverse, secant = random_secant(seed, step_size=1.0, curvature=1.0)
        new = np.asarray(updated(RULES[name], inverse, secant))
        assert np.linalg.eigvalsh(new)[0] > 0


@EACH_RULE
@given(seed=SEEDS, power=st.integers(-20, 20))
def test_scaling_the_objective_scales_the_inverse(name, seed, power):
    inverse, secant = random_secant(seed)
    factor = 2.0**power  # exact, so that the results agree bit for bit
    scaled = Secant(
        secant.step,
        factor * secant.gradient_change,
        factor * secant.gradient,
        secant.step_size,
        secant.inverse_change,
    )
    new = updated(RULES[name], inverse, secant)
    other = updated(RULES[name], inverse / factor, scaled)
    np.testing.assert_allclose(factor * other, new, rtol=1e-12)


@EACH_RULE
def test_product_with_a_vector_needs_no_matrix(name):
    inverse, secant = random_secant(3)
    vector = jnp.arange(5.0) - 1.5
    correction = RULES[name].correction(secant)
    product = correction.times(secant, inverse @ vector, vector)
    expected = correction.apply(secant, inverse) @ vector
    np.testing.assert_allclose(product, expected, rtol=1e-11)


@EACH_RULE
def test_one_parameter_gets_the_exact_inverse(name):
    inverse, secant = random_secant(1, size=1)
    new = updated(RULES[name], inverse, secant)
    expected = secant.step / secant.gradient_change
    np.testing.assert_allclose(new[0], expected, rtol=1e-13)


@EACH_RULE
def test_an_exact_inverse_is_unchanged(name):
    rng = np.random.default_rng(0)
    inverse = jnp.asarray(np.diag(rng.uniform(0.5, 2, 5)))
    gradient = jnp.asarray(rng.normal(size=5))
    step = -inverse @ gradient  # of a quadratic: y = -g and a = bh - 1 = 0
    secant = Secant(step, -gradient, gradient, jnp.asarray(1.0), step)
    np.testing.assert_allclose(
        updated(RULES[name], inverse, secant), inverse, atol=1e-14
    )


def test_bfgs_is_the_textbook_product():
    inverse, secant = random_secant(7)
    s, y = np.asarray(secant.step), np.asarray(secant.gradient_change)
    rho = 1 / (y @ s)
    left = np.eye(5) - rho * np.outer(s, y)
    expected = left @ np.asarray(inverse) @ left.T + rho * np.outer(s, s)
    np.testing.assert_allclose(updated(BFGS(), inverse, secant), expected, rtol=1e-10)


def self_scaled(inverse, s, y, is_bfgs):
    """Both self-scaled rules from the explicit Hessian, in NumPy."""
    hessian, n = np.linalg.inv(inverse), len(s)
    rho, hy = 1 / (y @ s), inverse @ y
    b, h = rho * s @ hessian @ s, rho * y @ hy
    a = max(b * h - 1, 0)
    theta = 0.0
    if not is_bfgs:
        rho_minus = min(1, h * (1 - np.sqrt(a / (1 + a))))
        theta = max((rho_minus - 1) / a, min(1 / rho_minus, (1 - b) / b))
    sigma, kappa = 1 + theta * a, min(1, 1 / b)
    spread = abs(sigma) ** (1 / (1 - n))
    tau = min(kappa * spread, sigma)
    if theta > 0:
        tau = kappa * min(spread, 1 / theta)
    phi = (1 - theta) / (1 + a * theta)
    v = rho * s - hy / (y @ hy)
    middle = inverse - np.outer(hy, hy) / (y @ hy) + phi * (y @ hy) * np.outer(v, v)
    return middle / tau + rho * np.outer(s, s)


@pytest.mark.parametrize(("rule", "is_bfgs"), [(SSBFGS(), True), (SSBroyden(), False)])
@given(seed=SEEDS)
def test_self_scaled_rules_agree_with_the_explicit_hessian(rule, is_bfgs, seed):
    inverse, secant = random_secant(seed)
    expected = self_scaled(
        np.asarray(inverse),
        np.asarray(secant.step),
        np.asarray(secant.gradient_change),
        is_bfgs,
    )
    new = updated(rule, inverse, secant)
    np.testing.assert_allclose(new, expected, atol=1e-6 * np.abs(expected).max())


# Guards.


def test_skip_refuses_bad_curvature():
    for curvature, is_good in [(1.0, True), (-1.0, False), (0.0, False)]:
        _, secant = random_secant(0, curvature=curvature)
        same, is_used = Skip().guard(secant)
        assert bool(is_used) == is_good and same is secant


@given(seed=SEEDS, curvature=st.floats(-10, 0.001))
def test_damped_secant_meets_its_ratio_and_stays_consistent(seed, curvature):
    inverse, secant = random_secant(seed, curvature=curvature)
    damped, is_used = Damp(0.2).guard(secant)
    assert is_used
    wanted = 0.2 * secant.hessian_curvature
    assert damped.curvature >= wanted * (1 - 1e-9)
    expected = inverse @ damped.gradient_change
    size = jnp.abs(expected).max() + jnp.abs(secant.inverse_change).max()
    np.testing.assert_allclose(damped.inverse_change, expected, atol=1e-9 * size)


def test_damp_leaves_good_curvature_alone():
    _, secant = random_secant(0, step_size=1.0, curvature=100.0)
    damped, is_used = Damp().guard(secant)
    assert is_used
    np.testing.assert_array_equal(damped.gradient_change, secant.gradient_change)


@pytest.mark.parametrize("make", [lambda: Damp(0.0), lambda: Skip(-1.0)])
def test_bad_guard_settings(make):
    with pytest.raises(ValueError, match=r"`(min_ratio|threshold)` must be"):
        make()
