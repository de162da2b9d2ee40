"""Every normalisation gives the optimal tilt: SciPy and mpmath are the judges."""

import functools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

import vrba
from tests.adapt.cases import ADAPTIVE, POTENTIALS, WITHOUT_SHIFT, tilt
from vrba.adapt import temperatures

sizes = hnp.arrays(np.float64, 7, elements=st.floats(0, 1e3, width=32))


def dual_by_scipy(potential, size, base, temperature):
    """`argmax_w E_p[w r] - T E_p[phi*(w)]` with `w >= 0`, `E_p[w] = 1`."""

    def loss(w):
        value = jnp.sum(base * (w * size - temperature * potential.conjugate(w)))
        return -value

    value_and_grad = jax.jit(jax.value_and_grad(loss))

    def fun(w):
        value, gradient = value_and_grad(jnp.asarray(w))
        return float(value), np.asarray(gradient)

    best = None
    for start in (np.ones(size.size), size / np.sum(base * size)):
        found = minimize(
            fun,
            np.maximum(start, 1e-6),
            jac=True,
            method="SLSQP",
            bounds=[(1e-12, None)] * size.size,
            constraints={
                "type": "eq",
                "fun": lambda w: np.sum(base * w) - 1,
                "jac": lambda w: base,
            },
            options={"ftol": 1e-15, "maxiter": 500},
        )
        if best is None or found.fun < best.fun:
            best = found
    return best.x


RNG = np.random.default_rng(7)
SMALL = np.abs(RNG.normal(size=6)) + 0.05
BASE = RNG.dirichlet(np.ones(6) * 5)


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_solved_shift_is_the_dual_optimum(name):
    potential, level = ADAPTIVE[name], 0.5
    got, _ = tilt(
        potential, vrba.adapt.SolveShift(vrba.adapt.Fixed(level)), SMALL, BASE
    )
    expected = dual_by_scipy(potential, SMALL, BASE, level)
    np.testing.assert_allclose(np.sum(BASE * got), 1, rtol=1e-13)
    np.testing.assert_allclose(got, expected, atol=3e-6)


@pytest.mark.parametrize("name", list(WITHOUT_SHIFT))
def test_solved_temperature_is_the_dual_optimum(name):
    potential = WITHOUT_SHIFT[name]
    got, scale = tilt(potential, vrba.adapt.SolveTemperature(), SMALL, BASE)
    expected = dual_by_scipy(potential, SMALL, BASE, float(scale.temperature))
    np.testing.assert_allclose(np.sum(BASE * got), 1, rtol=1e-13)
    np.testing.assert_allclose(got, expected, atol=3e-6)


def test_annealing_is_the_dual_optimum_for_the_exponential():
    got, scale = tilt(vrba.Exponential(), vrba.LogAnnealing(), SMALL, BASE)
    expected = dual_by_scipy(vrba.Exponential(), SMALL, BASE, float(scale.temperature))
    np.testing.assert_allclose(got, expected, atol=3e-6)
    np.testing.assert_allclose(float(scale.temperature), SMALL.max() / np.log(2))


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_annealing_pays_a_gap_unless_exponential(name):
    potential = ADAPTIVE[name]
    got, scale = tilt(potential, vrba.LogAnnealing(), SMALL, BASE, count=5)
    both = vrba.adapt.duality(
        potential, jnp.asarray(SMALL), scale.temperature, BASE * got, BASE
    )
    if name in ("Exponential",):
        np.testing.assert_allclose(float(both.gap), 0, atol=1e-14)
    elif name == "own_exponential":  # its slope is not known to be shift invariant
        np.testing.assert_allclose(float(both.gap), 0, atol=1e-12)
    else:
        assert float(both.gap) > 1e-4


@functools.cache
def suits(temperature, name):
    try:
        temperature.check(POTENTIALS[name])
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", list(POTENTIALS))
@pytest.mark.parametrize(
    "temperature",
    [
        vrba.LogAnnealing(),
        vrba.adapt.Fixed(0.3),
        vrba.adapt.SolveTemperature(),
        vrba.adapt.SolveShift(),
        vrba.EffectiveSize(0.4),
    ],
    ids=lambda t: type(t).__name__,
)
@given(size=sizes)
def test_tilt_has_mean_one_and_follows_the_size(name, temperature, size):
    potential = POTENTIALS[name]
    if not suits(temperature, name):
        return
    weight, _ = tilt(potential, temperature, size)
    np.testing.assert_allclose(weight.mean(), 1, rtol=1e-12)
    assert np.all(weight >= 0)
    order = np.argsort(size, kind="stable")
    assert np.all(np.diff(weight[order]) >= -1e-12 * weight.max())


@given(size=sizes)
def test_powers_have_their_closed_form(size):
    if size.max() < 1e-3:
        return
    for p in (1.2, 2.0, 3.0):
        shape = size ** (p - 1)
        for temperature in (vrba.adapt.SolveTemperature(), vrba.adapt.Fixed(1.0)):
            weight, _ = tilt(vrba.adapt.Power(p), temperature, size)
            np.testing.assert_allclose(weight, shape / shape.mean(), rtol=1e-12)
    quadratic, _ = tilt(vrba.Quadratic(), vrba.adapt.SolveTemperature(), size)
    np.testing.assert_allclose(quadratic, size / size.mean(), rtol=1e-14)


def test_exponential_tilt_against_mpmath():
    mp.mp.dps = 50
    size, level = np.array([0.0, 1e-3, 1.0, 30.0, 30.5]), 0.25
    total = sum(mp.exp(mp.mpf(r) / level) for r in size) / len(size)
    expected = [float(mp.exp(mp.mpf(r) / level) / total) for r in size]
    for temperature in (
        vrba.adapt.Fixed(level),
        vrba.adapt.SolveShift(vrba.adapt.Fixed(level)),
    ):
        weight, _ = tilt(vrba.Exponential(), temperature, size)
        np.testing.assert_allclose(weight, expected, rtol=1e-13)
    risk = level * mp.log(total)
    _, scale = tilt(
        vrba.Exponential(), vrba.adapt.SolveShift(vrba.adapt.Fixed(level)), size
    )
    np.testing.assert_allclose(float(scale.shift), float(risk), rtol=1e-14)


@pytest.mark.parametrize("name", ["Cosh", "Logarithmic", "SuperExponential"])
def test_solved_temperature_against_mpmath(name):
    mp.mp.dps = 40
    slope = {
        "Cosh": mp.sinh,
        "Logarithmic": lambda s: mp.log(1 + s),
        "SuperExponential": lambda s: s * mp.exp(s**2),
    }[name]
    _, scale = tilt(POTENTIALS[name], vrba.adapt.SolveTemperature(), SMALL)

    def excess(level):
        return sum(slope(mp.mpf(r) / level) for r in SMALL) / len(SMALL) - 1

    root = mp.findroot(excess, float(scale.temperature))
    np.testing.assert_allclose(float(scale.temperature), float(root), rtol=1e-13)


def test_annealing_bounds_the_ratio_of_weights():
    size = np.linspace(0, 3, 11)
    for factor in (0.5, 1.0, 2.0):
        for k in (0, 5, 1000):
            weight, _ = tilt(
                vrba.Exponential(),
                vrba.LogAnnealing(scale=factor),
                size,
                count=k,
            )
            bound = (2 + k) ** (1 / factor)
            np.testing.assert_allclose(weight.max() / weight.min(), bound, rtol=1e-12)


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_effective_size_is_met_without_a_gap(name):
    potential = ADAPTIVE[name]
    size = np.abs(np.random.default_rng(3).normal(size=33)) ** 2
    policy = vrba.EffectiveSize(0.3)
    weight, scale = tilt(potential, policy, size)
    np.testing.assert_allclose(1 / np.mean(weight**2), 0.3, rtol=1e-9)
    both = vrba.adapt.duality(
        potential, jnp.asarray(size), scale.temperature, jnp.asarray(weight)
    )
    np.testing.assert_allclose(float(both.gap), 0, atol=1e-9)
    scaled, _ = tilt(potential, policy, 1e-6 * size)
    np.testing.assert_allclose(scaled, weight, rtol=1e-6, atol=1e-9)


def test_effective_size_stops_at_what_ties_allow():
    size = np.array([1.0, 3.0, 3.0, 2.0])
    weight, _ = tilt(vrba.Exponential(), vrba.EffectiveSize(0.1), size)
    np.testing.assert_allclose(weight, [0, 2, 2, 0], atol=1e-12)


@pytest.mark.parametrize("name", list(ADAPTIVE))
def test_effective_size_grows_with_the_temperature(name):
    size = jnp.asarray(np.abs(np.random.default_rng(5).normal(size=33)))

    @jax.jit
    def effective(level):
        base, count = jnp.full(33, 1 / 33), jnp.zeros((), jnp.int32)
        scale = temperatures.solved.solve_shift(
            ADAPTIVE[name], size, base, size.max(), level, count
        )
        weight = scale.top_weight * scale.relative_weight(ADAPTIVE[name], size)
        return 1 / jnp.mean(weight**2)

    shares = [float(effective(level)) for level in jnp.geomspace(0.05, 20, 9)]
    assert np.all(np.diff(shares) > 0)


@pytest.mark.parametrize(
    ("temperature", "potential", "advice"),
    [
        (vrba.adapt.SolveTemperature(), vrba.Exponential(), "SolveShift"),
        (vrba.adapt.SolveTemperature(), vrba.adapt.Linear(), "LogAnnealing"),
        (vrba.adapt.SolveShift(), vrba.adapt.Linear(), "LogAnnealing"),
        (vrba.EffectiveSize(), vrba.adapt.Linear(), "LogAnnealing"),
        (
            vrba.adapt.SolveShift(),
            vrba.adapt.Custom(lambda s: jnp.sqrt(1 + s**2)),
            "LogAnnealing",
        ),
        (
            vrba.adapt.SolveTemperature(),
            vrba.adapt.Custom(lambda s: jnp.sqrt(1 + s**2)),
            "LogAnnealing",
        ),
        (vrba.adapt.SolveShift(), vrba.adapt.Custom(lambda s: s + s**2), "everywhere"),
    ],
)
def test_normalisation_without_a_root_is_refused(temperature, potential, advice):
    with pytest.raises(ValueError, match=f"(?s)root.*{advice}"):
        vrba.Weighting(potential, temperature)
    with pytest.raises(ValueError, match=f"(?s)root.*{advice}"):
        tilt(potential, temperature, SMALL)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: vrba.LogAnnealing(scale=0), "scale"),
        (lambda: vrba.adapt.Fixed(-1), "value"),
        (lambda: vrba.EffectiveSize(0), "fraction"),
        (lambda: vrba.EffectiveSize(1.5), "fraction"),
    ],
)
def test_bad_settings_are_named(build, name):
    with pytest.raises(ValueError, match=name):
        build()
