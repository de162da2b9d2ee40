"""The general rule for derivatives against nested differentiation and exact values."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from tests.fields.cases import MATRIX, PLACE, QUICK, ROW, nested, operations
from vrba.fields import coordinate_jets, downward_closure, propagate


@jax.custom_jvp
def tripled(value):
    return 3 * value


@tripled.defjvp
def _(primals, tangents):
    """Twice the true derivative, to check that the rule is used."""
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
        "an index that varies": lambda t, x: (ROW * x * t)[(3 * x).astype(int)],
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
    "nested": {
        "extremes": lambda t, x: jnp.max(ROW * t * x * x) + jnp.minimum(t * t, x),
        "clip": lambda t, x: jnp.clip(ROW * t * x, -0.1, 0.3),
        "products along": lambda t, x: jnp.cumprod(ROW * t * x),
        "sort": lambda t, x: jnp.sort(ROW * t * x),
        "angle": lambda t, x: jnp.arctan2(t, x),
        "norm": lambda t, x: jnp.linalg.norm(ROW * t + x),
        "varying power": lambda t, x: (t + x) ** (t * x),
    },
}


PATHS = {"loops": (0, 0), "nested": (0, 0)}


def is_jet(value):
    """Whether a dictionary is a jet, not a part of a pytree."""
    return isinstance(value, dict) and all(isinstance(key, tuple) for key in value)


def worst(jets, expected):
    """Return the largest error of each derivative, relative where it is large."""
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
    indices = downward_closure([(path.count(0), path.count(1))])

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


def test_elementwise_functions_against_mpmath():
    inner = lambda x: (2 + x + x * x) / 5

    (jet,), indices = coordinate_jets(jnp.array([0.25]), 1), downward_closure([(2,)])
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
        raise RuntimeError("differentiated by nesting")

    rule = "vrba.fields.propagation._differentiate_nested"
    monkeypatch.setattr(rule, refuse)
    run = lambda fn: jax.eval_shape(
        lambda p: propagate(fn, coordinate_jets(p, 2), downward_closure([(1, 1)])),
        jnp.asarray(PLACE),
    )
    known = GROUPS["linear"] | GROUPS["products"]
    known |= {name: lambda t, x, f=f: f(t * x) for name, (f, _) in UNARY.items()}
    known |= {name: GROUPS["choices"][name] for name in ("where", "gather", "dynamic")}
    for name, fn in known.items():
        if name != "magnitude":
            run(fn)
    with pytest.raises(RuntimeError, match="by nesting"):
        run(GROUPS["linear"]["magnitude"])


@pytest.mark.parametrize("dim", [2, 3])
def test_mixed_derivatives_to_fourth_order(dim):
    """`exp(a.p) cos(b.p)` is the real part of `exp((a + ib).p)`."""
    growth, rotation = (
        np.array([0.7, -0.4, 0.9])[:dim],
        np.array([1.3, 0.8, -0.6])[:dim],
    )
    fn = lambda *p: (
        jnp.exp(sum(a * c for a, c in zip(growth, p, strict=True)))
        * jnp.cos(jnp.dot(jnp.asarray(rotation), jnp.stack(p)))
    )
    indices = [i for i in itertools.product(range(5), repeat=dim) if sum(i) <= 4]
    point = jnp.array([0.3, 0.7, -0.2])[:dim]
    run = jax.jit(lambda p: propagate(fn, coordinate_jets(p, dim), frozenset(indices)))
    jet = run(point)
    assert set(jet) == set(indices)
    factor = growth + 1j * rotation
    value = np.exp(factor @ np.asarray(point))
    for index in indices:
        expected = (np.prod(factor ** np.array(index)) * value).real
        np.testing.assert_allclose(jet[index], expected, rtol=1e-12, err_msg=str(index))


def test_integers_booleans_and_constants_have_no_derivatives():
    def fn(t, x):
        place, step = jnp.argmax(jnp.stack([t, x])), (10 * x * t).astype(int)
        return {"fixed": [place, step, x > t, 3, 1.0, jnp.asarray(ROW)], "varies": t}

    point = jnp.asarray(PLACE)
    jets = propagate(fn, coordinate_jets(point, 2), downward_closure([(1, 1)]))
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
        return propagate(fn, coordinate_jets(point, 2), downward_closure([(1, 1)]))

    (count, varying), counts = run(jnp.asarray(PLACE))
    assert list(count) == list(counts) == [(0, 0)] and count[0, 0] == 3
    np.testing.assert_allclose(varying[1, 1], np.prod(ROW), rtol=1e-14)


def test_the_general_rule_computes_only_what_is_requested():
    rows = jnp.asarray(ROW)
    fn = lambda t, x: jnp.vdot(jnp.exp(jnp.sin(rows)), jnp.tanh(rows * (t + x)))
    run = lambda indices: lambda p: propagate(fn, coordinate_jets(p, 2), indices)
    for tops in ([(0, 0)], [(1, 0)], [(1, 0), (0, 2)], [(2, 2)]):
        requested = downward_closure(tops)
        assert set(jax.eval_shape(run(requested), jnp.asarray(PLACE))) == requested
        counts = operations(run(requested), jnp.asarray(PLACE))
        assert counts["sin"] == counts["exp"] == 1  # they depend on no coordinate
        assert counts["dot_general"] == len(requested)
    one_sided = propagate(
        lambda t, x: jnp.sin(t), coordinate_jets(rows, 2), downward_closure([(2, 2)])
    )
    assert set(one_sided) == {(0, 0), (1, 0), (2, 0)}


def test_float32_stays_float32():
    def fn(t, x):
        rows = jnp.where(x > 0, jnp.stack([t, x]) / (1 + x**2), 0.0)
        rows = jnp.tanh(jnp.minimum(rows, 0.5) + t**1.5)
        return rows * jnp.exp(-t) + 1

    @partial(jax.jit, compiler_options=QUICK)
    def run(point):
        return propagate(fn, coordinate_jets(point, 2), requested)

    requested = downward_closure([(1, 1)])
    jet = run(jnp.asarray(PLACE, jnp.float32))
    assert set(jet) == requested
    assert all(part.dtype == jnp.float32 for part in jet.values())
