"""Jets: lower derivatives, products and compositions."""

import itertools
import math
from functools import partial

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vrba.fields import compose, downward_closure, multiply, repeated_derivatives

ORDERS = st.tuples(st.integers(0, 3), st.integers(0, 3))
TOP = (3, 2)
BELOW = downward_closure([TOP])


def jet_of(numbers):
    return dict(zip(sorted(BELOW), numbers, strict=True))


NUMBERS = st.floats(-1, 1, allow_subnormal=False)
JETS = st.lists(NUMBERS, min_size=len(BELOW), max_size=len(BELOW)).map(jet_of)
times = partial(multiply, lambda a, b: a * b)


def assert_same(this, that, tolerance=1e-11):
    assert this.keys() == that.keys()
    for index in this:
        np.testing.assert_allclose(this[index], that[index], tolerance, tolerance)


@given(st.lists(ORDERS, min_size=1, max_size=4))
def test_closure_is_the_smallest_set_with_all_lower_derivatives(indices):
    found = downward_closure(indices)
    assert set(indices) <= found and (0, 0) in found
    assert downward_closure(found) == found
    is_below = lambda a, b: all(x <= y for x, y in zip(a, b, strict=True))
    grid = itertools.product(range(4), repeat=2)
    assert found == {i for i in grid if any(is_below(i, top) for top in indices)}
    top = indices[0]
    assert len(downward_closure([top])) == (top[0] + 1) * (top[1] + 1)


@given(JETS, JETS, JETS)
def test_products_of_jets_are_products(a, b, c):
    assert_same(times(a, b, BELOW), times(b, a, BELOW))
    left = times(times(a, b, BELOW), c, BELOW)
    assert_same(left, times(a, times(b, c, BELOW), BELOW))
    added = {index: b[index] + c[index] for index in BELOW}
    apart = [times(a, b, BELOW), times(a, c, BELOW)]
    joined = {index: apart[0][index] + apart[1][index] for index in BELOW}
    assert_same(times(a, added, BELOW), joined)
    factor = lambda i: math.factorial(i[0]) * math.factorial(i[1])
    terms = {i: a[j] / factor(j) for i, j in zip(a, a, strict=True)}
    for i in BELOW:  # as polynomials
        expected = sum(
            terms[j] * b[i[0] - j[0], i[1] - j[1]] / factor((i[0] - j[0], i[1] - j[1]))
            for j in downward_closure([i])
        )
        np.testing.assert_allclose(apart[0][i], factor(i) * expected, 1e-11, 1e-11)


@given(JETS, JETS)
def test_exponentials_turn_sums_into_products(a, b):
    power = lambda jet: compose([math.exp(jet[0, 0])] * 6, jet, BELOW)
    added = {index: a[index] + b[index] for index in BELOW}
    assert_same(power(added), times(power(a), power(b), BELOW))
    value = math.exp(a[0, 0])  # the logarithm is the inverse
    outer = [a[0, 0]]
    outer += [(-1) ** (k - 1) * math.factorial(k - 1) / value**k for k in range(1, 6)]
    assert_same(compose(outer, power(a), BELOW), a, 1e-8)


@given(JETS)
def test_composition_with_simple_functions(a):
    assert_same(compose([a[0, 0], 1.0, 0.0, 0.0, 0.0, 0.0], a, BELOW), a)
    value = a[0, 0]
    squared = compose([value**2, 2 * value, 2.0, 0.0, 0.0, 0.0], a, BELOW)
    assert_same(squared, times(a, a, BELOW))


def test_compositions_count_the_partitions_of_a_set():
    """If every derivative is one, the result is Bell's number of the order."""
    for index, bell in [
        ((1, 0), 1),
        ((1, 1), 2),
        ((2, 1), 5),
        ((2, 2), 15),
        ((0, 5), 52),
    ]:
        inner = dict.fromkeys(downward_closure([index]), 1)
        assert compose([1] * 6, inner, frozenset([index])) == {index: bell}


def test_a_missing_derivative_is_zero():
    line = {(0, 0): 2.0, (0, 1): 3.0}
    assert times(line, line, BELOW) == {(0, 0): 4.0, (0, 1): 12.0, (0, 2): 18.0}
    assert compose([5.0, 1.0, 0.5, 2.0, 0.0, 0.0], line, BELOW) == {
        (0, 0): 5.0,
        (0, 1): 3.0,
        (0, 2): 4.5,
    }


def test_repeated_derivatives_of_the_sine():
    outer = repeated_derivatives(jnp.sin, jnp.array([0.3, 1.2]), 4)
    sine, cosine = np.sin([0.3, 1.2]), np.cos([0.3, 1.2])
    for got, want in zip(outer, [sine, cosine, -sine, -cosine, sine], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
