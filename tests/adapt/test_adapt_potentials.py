"""Every potential is what it says: against mpmath, and by its own algebra."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vrba
from tests.adapt.cases import ADAPTIVE, POTENTIALS, call, exact

NAMES = list(POTENTIALS)


@eqx.filter_jit
def derivative_of(potential, s):
    return jax.vmap(jax.grad(potential.value))(s)


arguments = st.lists(st.floats(0, 8), min_size=5, max_size=5)


@pytest.mark.parametrize("name", NAMES)
def test_value_and_slope_agree_with_mpmath(name):
    potential, phi = POTENTIALS[name], exact(name)
    mp.mp.dps = 40
    for s in (1e-9, 1e-3, 0.1, 0.9, 1.0, 2.5, 5.0):
        value = float(call(potential, "value", jnp.asarray(s)))
        slope = float(call(potential, "slope", jnp.asarray(s)))
        np.testing.assert_allclose(value, float(phi(s)), rtol=2e-11)
        np.testing.assert_allclose(slope, float(mp.diff(phi, s)), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(s=arguments)
def test_slope_is_nonnegative_increasing_and_the_derivative(name, s):
    potential = POTENTIALS[name]
    s = jnp.sort(jnp.asarray(s))
    slope = call(potential, "slope", s)
    assert jnp.all(slope >= 0) and jnp.all(jnp.diff(slope) >= 0)
    inside = jnp.where(s > 1e-3, s, 1.0)
    derivative = derivative_of(potential, inside)
    np.testing.assert_allclose(derivative, call(potential, "slope", inside), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(s=arguments, more=st.floats(0, 3))
def test_relative_slope_is_the_ratio(name, s, more):
    potential = POTENTIALS[name]
    s = jnp.asarray(s)
    peak = jnp.max(s) + more + 1e-3
    expected = call(potential, "slope", s) / call(potential, "slope", peak)
    got = call(potential, "relative_slope", s, peak)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("name", list(ADAPTIVE))
@given(y=st.lists(st.floats(1e-3, 300), min_size=5, max_size=5))
def test_inverse_slope_inverts(name, y):
    potential, y = ADAPTIVE[name], jnp.asarray(y)
    np.testing.assert_allclose(
        call(potential, "slope", call(potential, "inverse_slope", y)), y, rtol=1e-10
    )


@pytest.mark.parametrize("name", NAMES)
@given(s=arguments, y=st.floats(0, 30))
def test_fenchel_young(name, s, y):
    """`phi(s) + phi*(y) >= s y`, with equality where `y` is the slope at `s`."""
    potential, s = POTENTIALS[name], jnp.asarray(s)
    price = call(potential, "conjugate", jnp.full_like(s, y))
    excess = call(potential, "value", s) + price - s * y
    assert jnp.all(excess >= -1e-10 * (1 + jnp.abs(s * y)))
    slope = call(potential, "slope", s)
    at_slope = (
        call(potential, "value", s) + call(potential, "conjugate", slope) - s * slope
    )
    scale = 1 + jnp.abs(s * slope) + jnp.abs(call(potential, "value", s))
    np.testing.assert_allclose(at_slope / scale, 0, atol=1e-11)


@pytest.mark.parametrize(
    ("potential", "conjugate"),
    [
        (vrba.Exponential(), lambda y: y * mp.log(y) - y + 1),
        (vrba.Quadratic(), lambda y: mp.mpf(y) ** 2 / 4),
        (vrba.adapt.Power(3), lambda y: 2 * (mp.mpf(y) / 3) ** mp.mpf(1.5)),
        (
            vrba.adapt.Cosh(),
            lambda y: y * mp.asinh(y) - mp.sqrt(1 + mp.mpf(y) ** 2) + 1,
        ),
        (vrba.adapt.Logarithmic(), lambda y: mp.exp(y) - 1 - y),
    ],
    ids=lambda v: type(v).__name__,
)
def test_conjugate_has_its_closed_form(potential, conjugate):
    for y in (0.2, 1.0, 3.7):
        got = float(call(potential, "conjugate", jnp.asarray(y)))
        np.testing.assert_allclose(got, float(conjugate(y)), rtol=1e-12)


def test_super_exponential_inverts_by_lambert():
    for y in (0.01, 1.0, 1e6):
        expected = mp.sqrt(mp.lambertw(2 * mp.mpf(y) ** 2) / 2)
        got = float(vrba.adapt.SuperExponential().inverse_slope(jnp.asarray(y)))
        np.testing.assert_allclose(got, float(expected.real), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_conjugate_forbids_negative_weights(name):
    assert POTENTIALS[name].conjugate(jnp.asarray(-0.1)) == jnp.inf


@pytest.mark.parametrize("name", NAMES)
def test_continued_below_zero(name):
    potential = POTENTIALS[name]
    below, zero = jnp.asarray(-3.0), jnp.asarray(0.0)
    if potential.is_defined_everywhere():
        assert 0 < call(potential, "slope", below) < call(potential, "slope", zero)
    else:
        assert call(potential, "slope", below) == 0
        assert call(potential, "value", below) == call(potential, "value", zero)


def test_degree_is_that_of_homogeneity():
    s = jnp.asarray(1.7)
    for name, potential in POTENTIALS.items():
        if (degree := potential.degree()) is not None:
            ratio = float(call(potential, "value", 3 * s) / call(potential, "value", s))
            np.testing.assert_allclose(ratio, 3**degree, rtol=1e-12, err_msg=name)


def test_own_potential_equals_the_built_in_one():
    own, s = vrba.adapt.Custom(lambda s: s**2), jnp.linspace(-1, 3, 9)
    np.testing.assert_array_equal(own.slope(s), vrba.Quadratic().slope(s))
    np.testing.assert_allclose(
        own.inverse_slope(jnp.abs(s)), jnp.abs(s) / 2, rtol=1e-14
    )


@pytest.mark.parametrize(
    ("fn", "complaint"),
    [
        (lambda s: -s, "increasing"),
        (lambda s: jnp.sqrt(s + 1), "convex"),
        (lambda s: jnp.log(s), "finite"),
    ],
)
def test_own_potential_that_is_none_is_refused(fn, complaint):
    with pytest.raises(ValueError, match=complaint):
        vrba.adapt.Custom(fn)


def test_power_refuses_what_is_not_superlinear():
    with pytest.raises(ValueError, match=r"exponent.*greater than 1, got 1\.0.*Linear"):
        vrba.adapt.Power(1)
