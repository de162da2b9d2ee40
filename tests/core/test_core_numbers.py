"""Root finding, floating types, checks of settings and texts of a status."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import vrba
from vrba.core import (
    check_between,
    check_count,
    check_positive,
    find_root,
    float_dtype,
)

CURVES = {
    "cubic": lambda x: x**3 - 2,
    "steep": lambda x: jnp.exp(x) - 1e6,
    "flat": lambda x: jnp.tanh(x / 50) - 0.01,
    "kinked": lambda x: jnp.where(x < 1.5, x - 1.5, 1e3 * (x - 1.5)),
    "overflowing": lambda x: jnp.exp(jnp.exp(x)) - 5,
}


@pytest.mark.parametrize("name", list(CURVES))
def test_roots_agree_with_brent(name):
    fn = CURVES[name]
    for lower, upper in ((-20.0, 30.0), (-1.0, 17.0)):
        got = float(
            jax.jit(find_root, static_argnums=0)(fn, *map(jnp.asarray, (lower, upper)))
        )
        top = min(upper, 5.0) if name == "overflowing" else upper
        expected = brentq(lambda x, fn=fn: float(fn(x)), lower, top, xtol=1e-15)
        np.testing.assert_allclose(got, expected, rtol=2e-14)


@given(shift=st.integers(-5000, 5000).map(lambda n: n / 1000))
def test_without_a_zero_the_closer_end_is_returned(shift):
    root = ROOT(jnp.asarray(shift))
    digits = np.finfo(float).eps  # where the interval is of length one
    np.testing.assert_allclose(root, np.clip(shift, -1, 2), rtol=4e-16, atol=digits)


ROOT = jax.jit(
    lambda shift: find_root(lambda x: x - shift, jnp.asarray(-1.0), jnp.asarray(2.0))
)


def test_a_jump_is_located():
    jump = find_root(
        lambda x: jnp.where(x < 0.3, -1.0, 1.0), jnp.asarray(-7.0), jnp.asarray(9.0)
    )
    np.testing.assert_allclose(jump, 0.3, rtol=1e-15)


def test_roots_in_float32_and_in_batches():
    batch = jnp.asarray([2.0, 3.0, 5.0], jnp.float32)
    root = jax.vmap(
        lambda y: find_root(lambda x: x**2 - y, jnp.float32(0), jnp.float32(9))
    )(batch)
    assert root.dtype == jnp.float32
    np.testing.assert_allclose(root, np.sqrt(batch), rtol=3e-7)


def test_float_dtype_returns_or_refuses_a_type():
    assert float_dtype() == jnp.float64 and float_dtype("float32") == jnp.float32
    with pytest.raises(ValueError, match="int32"):
        float_dtype(jnp.int32)
    with jax.enable_x64(False):
        assert float_dtype() == jnp.float32
        with pytest.raises(ValueError, match="jax_enable_x64"):
            float_dtype(jnp.float64)


def test_a_status_has_a_text():
    assert vrba.Status[vrba.Status.ok] == ""
    assert "num_rejected" in vrba.Status[vrba.Status.nonfinite_residual]


def test_checks_accept_numbers_of_any_library():
    check_count(a=np.int32(3), b=jnp.asarray(3), c=3)
    check_positive(a=np.float32(0.1), b=jnp.asarray(0.1), c=1)
    check_between(a=(np.float64(0.5), 0.0, 1.0), b=(jnp.asarray(0.5), 0.0, 1.0))
    for value in ("3", None, 3j, [3], np.ones(1)):
        with pytest.raises(ValueError, match="`a` must be a number"):
            check_positive(a=value)
        with pytest.raises(ValueError, match="`a` must be a number"):
            check_between(a=(value, 0.0, 9.0))
    for value in ("3", None, 3.0, np.nan):
        with pytest.raises(ValueError, match="`a` must be a whole number"):
            check_count(a=value)
