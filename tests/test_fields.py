"""Derivatives in one pass: the general rule, the fast one, and how equations ask."""

import importlib
import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import concrete

from vrba.fields import (
    Field,
    closure,
    composed,
    coordinate_jets,
    derivative_index,
    multiplied,
    propagate,
    tower,
)
from vrba.models import MLP, AbstractActivation, FanIn, Network, Tanh

ROW = np.array([1.0, -2.0, 0.5])
MATRIX = np.arange(6.0).reshape(2, 3) / 3
QUICK = {"xla_backend_optimization_level": 0}  # to compile, not to run
PLACE = np.array([0.3, 0.7])


@jax.custom_jvp
def tripled(value):
    return 3 * value


@tripled.defjvp
def _(primals, tangents):
    """Twice the true slope, to see that the rule is used."""
    return tripled(primals[0]), 6 * primals[0] / primals[0] * tangents[0]


GROUPS = {
    "linear": {
        "sum": lambda t, x: t + ROW * x - 2,
        "pytree": lambda t, x: (t, [x, {"difference": t - x}], -x),
        "reshape": lambda t, x: jnp.transpose(jnp.reshape(MATRIX * t * x, (3, 2))),
        "reduce": lambda t, x: jnp.sum(MATRIX * t * x, axis=0) + jnp.mean(ROW * x),
        "flip and pad": lambda t, x: jnp.pad(jnp.flip(ROW * t * x), 1) + x,
        "cumsum": lambda t, x: jnp.cumsum(ROW * t * x**2),
        "concatenate": lambda t, x: jnp.concatenate([ROW * x, jnp.stack([t * x, t])]),
        "split": lambda t, x: jnp.split(jnp.stack([t * x, x, x * x, t]), 2),
        "complex": lambda t, x: (
            (jnp.conj(jax.lax.complex(t * x, x)) * jax.lax.complex(x, t)).imag
        ),
        "magnitude": lambda t, x: jnp.abs(jax.lax.complex(t * x, x + t * t)),
    },
    "products": {
        "mul": lambda t, x: t * x * x,
        "one side varies": lambda t, x: MATRIX @ jnp.sin(ROW * t * x),
        "both sides vary": lambda t, x: (MATRIX * t) @ (ROW * x * x),
        "einsum": lambda t, x: jnp.einsum(
            "ij,j,i->", MATRIX * t**2, ROW * x * t, jnp.stack([t, x])
        ),
        "convolve": lambda t, x: jnp.convolve(ROW * t, jnp.stack([x, t * x])),
        "division": lambda t, x: (x + ROW) / (1 + t * x),
        "by a constant": lambda t, x: x * t / ROW,
        "integer powers": lambda t, x: (t * x) ** 3 + (t + x) ** -2,
        "constant powers": lambda t, x: (t * x) ** np.abs(ROW) + (x * t) ** 2.5,
    },
    "choices": {
        "where": lambda t, x: jnp.where(x < t, jnp.log(t - x), x * t),
        "row or row": lambda t, x: jnp.where(ROW > 0, ROW * x * t, t**2),
        "gather": lambda t, x: (ROW * x * t)[jnp.array([2, 0])],
        "slice": lambda t, x: (ROW * x * t)[1:] + (ROW * t)[0],
        "a place that varies": lambda t, x: (ROW * x * t)[(3 * x).astype(int)],
        "dynamic": lambda t, x: jax.lax.dynamic_slice(ROW * x * t, (1,), (2,)),
        "set and add": lambda t, x: (ROW * x * t).at[0].set(t**3).at[1].add(x),
        "steps": lambda t, x: jnp.floor(5 * x * t) * x + jnp.sign(x - t) * x * t,
        "through integers": lambda t, x: (10 * x).astype(int).astype(float) * t,
        "stop_gradient": lambda t, x: jax.lax.stop_gradient(t * x) * x,
    },
    "calls": {
        "jit": lambda t, x: jax.jit(lambda a, b: (a * b, a + 1))(t * x, x),
        "checkpoint": lambda t, x: jax.checkpoint(lambda a: jnp.sin(a * x))(t * x),
        "grad": lambda t, x: jax.grad(lambda a: jnp.sin(a * t) * x)(x),
        "custom_jvp": lambda t, x: tripled(t * x) * x,
        "relu": lambda t, x: jax.nn.relu(t * x) * x,
        "softplus": lambda t, x: jax.nn.softplus(ROW * t * x),
        "softmax": lambda t, x: jax.nn.softmax(ROW * t * x),
    },
    "loops": {
        "scan": lambda t, x: jax.lax.scan(
            lambda c, a: (jnp.sin(c * a) + x, c * t), t, jnp.asarray(ROW)
        ),
        "fori": lambda t, x: jax.lax.fori_loop(
            0, 3, lambda i, c: jnp.sin(c * t) + x, x
        ),
        "while": lambda t, x: jax.lax.while_loop(
            lambda c: c < 3, lambda c: c * (1 + x), t + 1
        ),
        "cond": lambda t, x: jax.lax.cond(
            x > t, lambda a: jnp.sin(a * t), lambda a: a, x * t
        ),
        "switch": lambda t, x: jax.lax.switch(
            (3 * x).astype(int), [jnp.sin, jnp.cos, jnp.exp], x * t
        ),
    },
    "by itself": {
        "extremes": lambda t, x: jnp.max(ROW * t * x * x) + jnp.minimum(t * t, x),
        "clip": lambda t, x: jnp.clip(ROW * t * x, -0.1, 0.3),
        "products along": lambda t, x: jnp.cumprod(ROW * t * x),
        "sort": lambda t, x: jnp.sort(ROW * t * x),
        "angle": lambda t, x: jnp.arctan2(t, x),
        "norm": lambda t, x: jnp.linalg.norm(ROW * t + x),
        "varying power": lambda t, x: (t + x) ** (t * x),
    },
}


PATHS = {"loops": (0, 0), "by itself": (0, 0)}


def is_jet(value):
    """Whether a dictionary is a jet, and no part of a pytree."""
    return isinstance(value, dict) and all(isinstance(key, tuple) for key in value)


def nested(fn, point, *path):
    """The derivatives below `path`, a coordinate for each of the nested `jvp`s."""
    pushed = lambda p: [jnp.asarray(leaf) for leaf in jax.tree.leaves(fn(*p))]
    unit = jnp.eye(len(point), dtype=point.dtype)
    for k in path:
        pushed = lambda p, fn=pushed, k=k: jax.jvp(fn, (p,), (unit[k],))
    found = {}

    def collect(parts, path, index):
        if not path:
            found[index] = parts
            return
        *rest, k = path
        higher = index[:k] + (index[k] + 1,) + index[k + 1 :]
        collect(parts[0], rest, index)
        collect(parts[1], rest, higher)

    collect(pushed(point), path, (0,) * len(point))
    return found


def worst(jets, expected):
    """The largest difference of each derivative, relative where it is large."""
    found = {}
    for index, parts in expected.items():
        errors = []
        for jet, want in zip(jax.tree.leaves(jets, is_leaf=is_jet), parts, strict=True):
            got = jet.get(index, jnp.zeros_like(want))
            assert got.shape == want.shape and got.dtype == want.dtype
            errors.append(jnp.max(jnp.abs(got - want) / (1 + jnp.abs(want))))
        found[index] = jnp.max(jnp.stack(errors))
    return found


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_general_rule_is_nested_differentiation(group):
    path = PATHS.get(group, (0, 1))
    indices = closure([(path.count(0), path.count(1))])

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        jets = coordinate_jets(point, 2)
        return {
            name: worst(propagate(fn, jets, indices), nested(fn, point, *path))
            for name, fn in GROUPS[group].items()
        }

    for name, errors in run(jnp.asarray(PLACE)).items():
        assert set(errors) == indices
        assert all(error < 1e-12 for error in errors.values()), (name, errors)


UNARY = {
    "tanh": (jax.lax.tanh, mpmath.tanh),
    "sin": (jax.lax.sin, mpmath.sin),
    "cos": (jax.lax.cos, mpmath.cos),
    "tan": (jax.lax.tan, mpmath.tan),
    "exp": (jax.lax.exp, mpmath.exp),
    "exp2": (jax.lax.exp2, lambda w: mpmath.mpf(2) ** w),
    "log": (jax.lax.log, mpmath.log),
    "log1p": (jax.lax.log1p, lambda w: mpmath.log(1 + w)),
    "expm1": (jax.lax.expm1, mpmath.expm1),
    "sqrt": (jax.lax.sqrt, mpmath.sqrt),
    "rsqrt": (jax.lax.rsqrt, lambda w: 1 / mpmath.sqrt(w)),
    "cbrt": (jax.lax.cbrt, mpmath.cbrt),
    "logistic": (jax.lax.logistic, lambda w: 1 / (1 + mpmath.exp(-w))),
    "sinh": (jax.lax.sinh, mpmath.sinh),
    "cosh": (jax.lax.cosh, mpmath.cosh),
    "asinh": (jax.lax.asinh, mpmath.asinh),
    "acosh": (lambda w: jax.lax.acosh(1 + w), lambda w: mpmath.acosh(1 + w)),
    "atanh": (jax.lax.atanh, mpmath.atanh),
    "asin": (jax.lax.asin, mpmath.asin),
    "acos": (jax.lax.acos, mpmath.acos),
    "atan": (jax.lax.atan, mpmath.atan),
    "erf": (jax.lax.erf, mpmath.erf),
    "erfc": (jax.lax.erfc, mpmath.erfc),
    "erf_inv": (jax.lax.erf_inv, mpmath.erfinv),
    "integer_pow": (lambda w: jax.lax.integer_pow(w, -3), lambda w: w**-3),
    "square": (jax.lax.square, lambda w: w * w),
    "abs": (lambda w: jax.lax.abs(-w), lambda w: w),
    "sign": (lambda w: jax.lax.sign(w - 1), lambda w: mpmath.mpf(-1)),
    "lgamma": (jax.lax.lgamma, mpmath.loggamma),
    "digamma": (jax.lax.digamma, mpmath.digamma),
    "pow": (lambda w: w**1.5, lambda w: w ** mpmath.mpf(1.5)),
}


def test_functions_of_one_number_against_mpmath():
    inner = lambda x: (2 + x + x * x) / 5

    (jet,), indices = coordinate_jets(jnp.array([0.25]), 1), closure([(2,)])
    found = {
        name: propagate(lambda x, fn=fn: fn(inner(x)), [jet], indices)
        for name, (fn, _) in UNARY.items()
    }
    for name, (_, fn) in UNARY.items():
        with mpmath.workdps(30):
            terms = mpmath.taylor(lambda x, fn=fn: fn(inner(x)), mpmath.mpf(0.25), 2)
        for order, term in enumerate(terms):
            expected = float(term * math.factorial(order))
            got = found[name].get((order,), 0.0)
            message = f"{name}, derivative {order}"
            np.testing.assert_allclose(got, expected, 1e-11, 1e-11, err_msg=message)


def test_known_operations_are_not_differentiated_by_nesting(monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("differentiated by itself")

    module = importlib.import_module("vrba.fields.propagate")
    monkeypatch.setattr(module, "_by_itself", refuse)
    run = lambda fn: jax.eval_shape(
        lambda p: propagate(fn, coordinate_jets(p, 2), closure([(1, 1)])),
        jnp.asarray(PLACE),
    )
    known = GROUPS["linear"] | GROUPS["products"]
    known |= {name: lambda t, x, f=f: f(t * x) for name, (f, _) in UNARY.items()}
    known |= {name: GROUPS["choices"][name] for name in ("where", "gather", "dynamic")}
    for name, fn in known.items():
        if name != "magnitude":
            run(fn)
    with pytest.raises(RuntimeError, match="by itself"):
        run(GROUPS["linear"]["magnitude"])


@pytest.mark.parametrize("dim", [2, 3])
def test_mixed_derivatives_to_fourth_order(dim):
    """`exp(a.p) cos(b.p)` is the real part of `exp((a + ib).p)`."""
    slope, turn = np.array([0.7, -0.4, 0.9])[:dim], np.array([1.3, 0.8, -0.6])[:dim]
    fn = lambda *p: (
        jnp.exp(sum(a * c for a, c in zip(slope, p, strict=True)))
        * jnp.cos(jnp.dot(jnp.asarray(turn), jnp.stack(p)))
    )
    indices = [i for i in itertools.product(range(5), repeat=dim) if sum(i) <= 4]
    point = jnp.array([0.3, 0.7, -0.2])[:dim]
    run = jax.jit(lambda p: propagate(fn, coordinate_jets(p, dim), frozenset(indices)))
    jet = run(point)
    assert set(jet) == set(indices)
    factor, value = slope + 1j * turn, np.exp((slope + 1j * turn) @ np.asarray(point))
    for index in indices:
        expected = (np.prod(factor ** np.array(index)) * value).real
        np.testing.assert_allclose(jet[index], expected, rtol=1e-12, err_msg=str(index))


# What has no derivative.


def test_integers_truths_and_constants_have_no_derivatives():
    def fn(t, x):
        place, step = jnp.argmax(jnp.stack([t, x])), (10 * x * t).astype(int)
        return {"fixed": [place, step, x > t, 3, 1.0, jnp.asarray(ROW)], "varies": t}

    point = jnp.asarray(PLACE)
    jets = propagate(fn, coordinate_jets(point, 2), closure([(1, 1)]))
    for jet, value in zip(jets["fixed"], fn(*point)["fixed"], strict=True):
        assert list(jet) == [(0, 0)] and isinstance(jet[0, 0], jax.Array)
        np.testing.assert_array_equal(jet[0, 0], value)
    assert jets["varies"][1, 0] == 1


def test_a_loop_with_integers_has_derivatives_only_of_the_rest():
    def fn(t, x):
        step = lambda carry, a: ((carry[0] + 1, carry[1] * a), carry[0])
        return jax.lax.scan(step, (0, t * x), jnp.asarray(ROW))

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        return propagate(fn, coordinate_jets(point, 2), closure([(1, 1)]))

    (count, varying), counts = run(jnp.asarray(PLACE))
    assert list(count) == list(counts) == [(0, 0)] and count[0, 0] == 3
    np.testing.assert_allclose(varying[1, 1], np.prod(ROW), rtol=1e-14)


# Jets: closure, products, compositions.

ORDERS = st.tuples(st.integers(0, 3), st.integers(0, 3))
TOP = (3, 2)
BELOW = closure([TOP])


def jet_of(numbers):
    return dict(zip(sorted(BELOW), numbers, strict=True))


NUMBERS = st.floats(-1, 1, allow_subnormal=False)
JETS = st.lists(NUMBERS, min_size=len(BELOW), max_size=len(BELOW)).map(jet_of)
times = partial(multiplied, lambda a, b: a * b)


def assert_same(this, that, tolerance=1e-11):
    assert this.keys() == that.keys()
    for index in this:
        np.testing.assert_allclose(this[index], that[index], tolerance, tolerance)


@given(st.lists(ORDERS, min_size=1, max_size=4))
def test_closure_is_the_smallest_set_with_all_below(indices):
    found = closure(indices)
    assert set(indices) <= found and (0, 0) in found
    assert closure(found) == found
    is_below = lambda a, b: all(x <= y for x, y in zip(a, b, strict=True))
    grid = itertools.product(range(4), repeat=2)
    assert found == {i for i in grid if any(is_below(i, top) for top in indices)}
    top = indices[0]
    assert len(closure([top])) == (top[0] + 1) * (top[1] + 1)


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
            for j in closure([i])
        )
        np.testing.assert_allclose(apart[0][i], factor(i) * expected, 1e-11, 1e-11)


@given(JETS, JETS)
def test_exponentials_turn_sums_into_products(a, b):
    power = lambda jet: composed([math.exp(jet[0, 0])] * 6, jet, BELOW)
    added = {index: a[index] + b[index] for index in BELOW}
    assert_same(power(added), times(power(a), power(b), BELOW))
    value = math.exp(a[0, 0])  # and the logarithm turns back
    slopes = [a[0, 0]]
    slopes += [(-1) ** (k - 1) * math.factorial(k - 1) / value**k for k in range(1, 6)]
    assert_same(composed(slopes, power(a), BELOW), a, 1e-8)


@given(JETS)
def test_composition_with_simple_functions(a):
    assert_same(composed([a[0, 0], 1.0, 0.0, 0.0, 0.0, 0.0], a, BELOW), a)
    value = a[0, 0]
    squared = composed([value**2, 2 * value, 2.0, 0.0, 0.0, 0.0], a, BELOW)
    assert_same(squared, times(a, a, BELOW))


def test_compositions_count_the_partitions_of_a_set():
    """With every derivative one: Bell's numbers, however the letters are shared."""
    for index, bell in [
        ((1, 0), 1),
        ((1, 1), 2),
        ((2, 1), 5),
        ((2, 2), 15),
        ((0, 5), 52),
    ]:
        inner = dict.fromkeys(closure([index]), 1)
        assert composed([1] * 6, inner, frozenset([index])) == {index: bell}


def test_a_derivative_that_is_not_there_is_zero():
    line = {(0, 0): 2.0, (0, 1): 3.0}
    assert times(line, line, BELOW) == {(0, 0): 4.0, (0, 1): 12.0, (0, 2): 18.0}
    assert composed([5.0, 1.0, 0.5, 2.0, 0.0, 0.0], line, BELOW) == {
        (0, 0): 5.0,
        (0, 1): 3.0,
        (0, 2): 4.5,
    }


def test_tower_is_repeated_differentiation():
    slopes = tower(jnp.sin, jnp.array([0.3, 1.2]), 4)
    sine, cosine = np.sin([0.3, 1.2]), np.cos([0.3, 1.2])
    for got, want in zip(slopes, [sine, cosine, -sine, -cosine, sine], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


# Fields: what an equation writes.


def numbered(name="u", coordinates=("t", "x")):
    """A field whose derivatives tell their index: `u.txx` is 12, plus 1000."""
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
    ("ask", "words"),
    [
        (lambda u, w: u.y, "`u.y` asks for a derivative by `y`.*domain are t, x"),
        (lambda u, w: u.txz, "`u.txz` asks for a derivative by `z`"),
        (lambda u, w: u.laplacian, "derivative by `l`"),
        (lambda u, w: u.d("xx"), r"`u.d\('xx'\)` asks for a derivative by `xx`"),
        (lambda u, w: w.x1x2, r"`w.x1x2` .* by `x`.*Write `w.d\('x1'\)`"),
        (lambda u, w: w.d("x1", "y"), r"`w.d\('x1', 'y'\)` asks .* by `y`"),
        (lambda u, w: u._private, "_private"),
    ],
)
def test_unknown_derivatives_are_named(ask, words):
    with pytest.raises(AttributeError, match=words):
        ask(numbered(), numbered("w", ("x1", "x2")))


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


# Networks: the fast way.

ACTIVATIONS = {
    cls.__name__: cls() for cls in concrete("vrba.models", AbstractActivation)
}
EACH_ACTIVATION = pytest.mark.parametrize("name", sorted(ACTIVATIONS))
FIFTH = closure([(4, 1)])


def some_network(activation, dtype=float):
    """Two hidden layers, with random weights and biases."""
    random, sizes = np.random.default_rng(5), [(5, 2), (5, 5), (2, 5)]
    weights = [jnp.asarray(random.normal(0, 0.5, shape), dtype) for shape in sizes]
    biases = [jnp.asarray(random.normal(0, 0.5, rows), dtype) for rows, _ in sizes]
    return Network(weights, biases, activation)


def test_a_built_network_has_glorot_weights(keys):
    build = lambda key: MLP(width=200, depth=1).build(2, 1, key=key, dtype=jnp.float32)
    network = jax.jit(build, compiler_options=QUICK)(next(keys))
    assert [w.shape for w in network.weights] == [(200, 2), (1, 200)]
    assert {w.dtype for w in network.weights} == {np.dtype("float32")}
    for weight, bias in zip(network.weights, network.biases, strict=True):
        assert bias.dtype == jnp.float32 and not bias.any()
        expected = np.sqrt(2 / sum(weight.shape))
        np.testing.assert_allclose(jnp.std(weight), expected, rtol=0.15)


def test_weights_by_fan_in_are_even_within_their_bound(keys):
    weight, bias = FanIn().layer(4, 5000, key=next(keys), dtype=jnp.float32)
    assert weight.shape == (5000, 4) and weight.dtype == bias.dtype == jnp.float32
    for found in (weight, bias):
        assert 0.49 < jnp.max(jnp.abs(found)) <= 0.5
        np.testing.assert_allclose(jnp.var(found), 0.5**2 / 3, rtol=0.05)
    assert abs(np.corrcoef(weight[:, 0], bias)[0, 1]) < 0.05


@EACH_ACTIVATION
def test_network_propagates_as_the_general_rule_does(name):
    network = some_network(ACTIVATIONS[name])
    weights, point = network.weights, jnp.array([0.4, -0.3])

    def plain(p):
        for layer, (weight, bias) in enumerate(
            zip(weights, network.biases, strict=True)
        ):
            p = weight @ (ACTIVATIONS[name](p) if layer else p) + bias
        return p

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        zero, *units = [(0, 0), (1, 0), (0, 1)]
        inputs = {zero: point} | dict(zip(units, jnp.eye(2), strict=True))
        return [propagate(fn, [inputs], FIFTH) for fn in (network, plain)]

    fast, written = run(point)
    assert set(fast) == FIFTH
    for index in FIFTH:
        np.testing.assert_allclose(fast[index], written[index], 1e-12, 1e-12)
    np.testing.assert_allclose(network(point), fast[0, 0], rtol=1e-14)


@EACH_ACTIVATION
def test_slopes_of_an_activation_are_its_derivatives(name):
    """Each is the slope of the one before, by differences of fourth order."""
    step, places = 1e-3, np.array([-1.3, 0.0, 0.2, 2.5])
    shifts = step * np.array([-2, -1, 0, 1, 2])
    values = jnp.asarray(places + shifts[:, None])
    run = jax.jit(
        lambda order: ACTIVATIONS[name].slopes(values, order), static_argnums=0
    )
    slopes = np.asarray(run(5))
    weights = np.array([1, -8, 0, 8, -1]) / (12 * step)
    numeric = np.einsum("s,ksp->kp", weights, slopes)
    np.testing.assert_allclose(slopes[1:, 2], numeric[:-1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ACTIVATIONS[name](values), slopes[0], rtol=1e-15)
    for order in range(5):
        fewer = np.asarray(run(order))
        np.testing.assert_allclose(fewer, slopes[: order + 1], rtol=1e-12, atol=1e-13)


# Only what is asked.


def operations(fn, *arguments):
    """How often each operation stands in the program, calls opened."""
    counts = {}

    def count(program):
        for equation in program.eqns:
            name = equation.primitive.name
            counts[name] = counts.get(name, 0) + 1
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "jaxpr")
            ):
                if hasattr(inner, "jaxpr"):
                    count(inner.jaxpr)

    count(jax.make_jaxpr(fn)(*arguments).jaxpr)
    return counts


def test_a_network_computes_only_what_is_asked():
    network, point = some_network(Tanh()), jnp.asarray(PLACE)
    inputs = lambda p: {(0, 0): p, (1, 0): jnp.eye(2)[0], (0, 1): jnp.eye(2)[1]}
    asked = closure([(1, 0), (0, 2)])
    run = lambda p: propagate(network, [inputs(p)], asked)
    assert set(jax.eval_shape(run, point)) == asked
    counts = operations(run, point)
    assert counts["tanh"] == 2  # once a layer
    assert counts["dot_general"] == 3 + 2 * len(asked)  # the inputs are linear
    alone = operations(network, point)
    assert alone["tanh"] == 2 and alone["dot_general"] == 3


def test_the_general_rule_computes_only_what_is_asked():
    rows = jnp.asarray(ROW)
    fn = lambda t, x: jnp.vdot(jnp.exp(jnp.sin(rows)), jnp.tanh(rows * (t + x)))
    run = lambda indices: lambda p: propagate(fn, coordinate_jets(p, 2), indices)
    for tops in ([(0, 0)], [(1, 0)], [(1, 0), (0, 2)], [(2, 2)]):
        asked = closure(tops)
        assert set(jax.eval_shape(run(asked), jnp.asarray(PLACE))) == asked
        counts = operations(run(asked), jnp.asarray(PLACE))
        assert counts["sin"] == counts["exp"] == 1  # they depend on no coordinate
        assert counts["dot_general"] == len(asked)
    one_sided = propagate(
        lambda t, x: jnp.sin(t), coordinate_jets(rows, 2), closure([(2, 2)])
    )
    assert set(one_sided) == {(0, 0), (1, 0), (2, 0)}


# In use: compiled, over many points, differentiated by parameters, in float32.


def test_gradients_of_a_residual_over_many_points():
    network = some_network(Tanh())
    points = jnp.asarray(np.random.default_rng(0).uniform(size=(6, 2)))
    scale = jnp.asarray(0.7)

    def by_jets(params, point):
        network, scale = params
        jets = coordinate_jets(point, 2)
        inputs = propagate(lambda t, x: jnp.stack([t, scale * x]), jets, asked)
        outputs = propagate(network, [inputs], asked)
        return outputs[1, 0][0] + outputs[0, 0][1] * outputs[0, 2][0]

    def by_nesting(params, point):
        network, scale = params
        fn = lambda t, x: network(jnp.stack([t, scale * x]))
        twice, once = nested(fn, point, 1, 1), nested(fn, point, 0)
        return once[1, 0][0][0] + once[0, 0][0][1] * twice[0, 2][0][0]

    asked = closure([(1, 0), (0, 2)])
    results = []
    for residual in (by_jets, by_nesting):
        mean = lambda params, residual=residual: jnp.mean(
            jax.vmap(residual, (None, 0))(params, points) ** 2
        )
        run = jax.jit(jax.value_and_grad(mean), compiler_options=QUICK)
        results.append(run((network, scale)))
    for got, want in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


def test_float32_stays_float32():
    network = some_network(Tanh(), jnp.float32)

    def fn(t, x):
        rows = jnp.where(x > 0, jnp.stack([t, x]) / (1 + x**2), 0.0)
        return network(jnp.minimum(rows, 0.5) + t**1.5) * jnp.exp(-t) + 1

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        jets = coordinate_jets(point, 2)
        inputs = propagate(lambda t, x: jnp.stack([t, x]), jets, asked)
        return propagate(fn, jets, asked), propagate(network, [inputs], asked)

    asked = closure([(1, 1)])
    for jet in run(jnp.asarray(PLACE, jnp.float32)):
        assert set(jet) == asked
        assert all(part.dtype == jnp.float32 for part in jet.values())
