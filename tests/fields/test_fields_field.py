"""Fields in equations: names of derivatives, and arithmetic."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.fields.cases import QUICK
from vrba.fields import Field, derivative_index


def numbered(name="u", coordinates=("t", "x")):
    """Return a field with the index as value: `u.txx` is 1012."""
    digits = lambda index: float("".join(map(str, index)))
    return Field(name, coordinates, lambda index: jnp.asarray(1000 + digits(index)))


def test_derivatives_are_attributes_in_any_order():
    u = numbered()
    assert u.value == 1000 and u.t == 1010 and u.x == 1001 and u.xx == 1002
    assert u.tx == u.xt == u.d("t", "x") == u.d("x", "t") == 1011
    assert u.txxtx == u.xxxtt == 1023
    assert u.d() == u.value


def test_longer_names_and_unicode():
    u = numbered("u", ("x1", "θ", "x2"))
    assert u.x1 == 1100 and u.x2 == 1001 and u.d("x1", "x2") == 1101
    assert u.θθ == 1020 and u.d("θ", "x1") == 1110
    assert derivative_index("u", ("x2", "x2"), ("x1", "x2")) == (0, 2)


@pytest.mark.parametrize(
    ("derivative", "words"),
    [
        (lambda u, w: u.y, "`u.y` is a derivative by `y`.*domain are t, x"),
        (lambda u, w: u.txz, "`u.txz` is a derivative by `z`"),
        (lambda u, w: u.laplacian, "derivative by `l`"),
        (lambda u, w: u.d("xx"), r"`u.d\('xx'\)` is a derivative by `xx`"),
        (lambda u, w: w.x1x2, r"`w.x1x2` .* by `x`.*Write `w.d\('x1'\)`"),
        (lambda u, w: w.d("x1", "y"), r"`w.d\('x1', 'y'\)` is a .* by `y`"),
        (lambda u, w: u._private, "_private"),
    ],
)
def test_unknown_derivatives_are_named(derivative, words):
    with pytest.raises(AttributeError, match=words):
        derivative(numbered(), numbered("w", ("x1", "x2")))


def test_a_field_is_its_value_in_formulas():
    three = np.float64(3)
    pairs = lambda u, v: [
        (u + 1, 3), (1 + u, 3), (u - 1, 1), (1 - u, -1), (u * 3, 6), (3 * u, 6),
        (u / 4, 0.5), (4 / u, 2), (u**3, 8), (3**u, 9), (-u, -2), (+u, 2), (abs(-u), 2),
        (u + u, 4), (u * u.x, 4), (u.x * u, 4), (u**u, 4), (u / u, 1), (u - u, 0),
        (v * u, 6), (u * v, 6), (v - u, 1), (v / u, 1.5), (v**u, 9), (three * u, 6),
        (three - u, 1), (abs(u), 2), (jnp.exp(u), math.exp(2)), (sum([u, u]), 4),
        (jnp.where(u > 1, u, 0.0), 2), (jnp.maximum(u, v), 3), (jax.nn.relu(u), 2),
    ]  # fmt: skip
    of = lambda value: Field("u", ("x",), lambda index: value)
    run = lambda a, b: jnp.stack([got - want for got, want in pairs(of(a), b)])
    two, v = jnp.asarray(2.0), jnp.asarray(3.0)
    errors = jax.jit(run, compiler_options=QUICK)(two, v)
    np.testing.assert_allclose(errors, np.zeros(len(errors)), atol=1e-14)
    u = of(two)
    assert u > 1 and u >= 2 and u < 3 and u <= 2 and u == 2 and u != 3 and v > u
    np.testing.assert_array_equal(np.ones(2) * u, [2, 2])
    np.testing.assert_array_equal(jnp.stack([u, u]), [2, 2])
    assert repr(u) == "Field('u', coordinates=('x',))"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.sin(u)
