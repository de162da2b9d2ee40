"""Continuation: when it starts, what it changes, and its way back to the problem."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.optim import LevenbergMarquardt
from vrba.pinn import Continuation, Evaluator, Trainer, dominating_factor, is_stuck
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import Silent, unsolved_status


class Layer(vrba.Problem):
    """A boundary layer at the outflow, which a flat solution cannot leave."""

    diffusion: float = 1e-3
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"transport": -self.diffusion * u.xx + u.x - 1}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x")]


class Growth(vrba.Problem):
    """`u' = u`, a problem with initial values."""

    domain = vrba.Box(t=(0, 1))

    def equations(self, u, t):
        return {"growth": u.t - u}

    def conditions(self):
        return [vrba.Initial(1.0)]


def recipe(**settings):
    chosen = {
        "model": vrba.MLP(width=8, depth=2),
        "optimizer": LevenbergMarquardt(),
        "num_points": 256,
        "pool_size": 1024,
        "num_held_out": 512,
        "resample_every": 15,
        "check_every": 15,
        "max_steps": 60,
        "exact_conditions": True,
        "continuation": Continuation(max_steps=10),
    }
    return tiny_recipe(**(chosen | settings))


def rows_of(points):
    points = jnp.asarray(points)[:, None]
    return points, jnp.zeros((len(points), 0))


@pytest.mark.parametrize(
    ("scores", "step", "expected"),
    [
        ((0.9, 1.0, 1.0), 45, True),
        ((0.49, 0.9, 1.0), 45, False),  # it fell to less than half
        ((0.9, 1.0, 1.0), 30, False),  # too early
        ((0.9e-6, 1e-6, 1e-6), 60, False),  # small already
        ((0.9, jnp.inf, jnp.inf), 60, False),  # no score so long ago
    ],
)
def test_the_rule_for_a_run_that_is_stuck(scores, step, expected):
    assert is_stuck(jnp.asarray(scores), 1.0, step) is expected


@pytest.mark.parametrize("start", [631.0, 2.0, 1e-3, 0.4])
@pytest.mark.parametrize(("num_steps", "divisor"), [(5, 4), (10, 3), (30, 2)])
def test_factors_approach_one_monotonically_and_end_there(start, num_steps, divisor):
    factors = [start]
    while factors[-1] != 1 and len(factors) < 100:
        factors.append(Continuation().next_factor(factors[-1], num_steps))
    distance = np.abs(np.log(factors))
    assert factors[-1] == 1 and np.all(np.diff(distance) < 0)
    expected = math.ceil(abs(math.log(start)) / math.log(divisor) - 1e-9)
    assert len(factors) - 1 == expected


def test_the_first_factor_lets_the_highest_derivatives_dominate():
    for top, rest in ((1.0, 40.0), (1e-6, 3.0)):
        factor = dominating_factor(top, rest)
        np.testing.assert_allclose(factor**2 * top, 10 * rest)
    assert dominating_factor(1.0, 1e-9) == 2  # they dominate already
    assert dominating_factor(0.0, 1.0) == 1  # there is nothing to change


def test_a_factor_multiplies_the_highest_derivatives_only():
    plain = Evaluator(Formulation(Layer()), recipe(continuation=None), 0)
    params, rows = plain.initial_params(), rows_of(np.linspace(0.1, 0.4, 7))
    found = {
        factor: plain.with_factor(factor, None).residual(params, EQUATIONS, rows)
        for factor in (0.0, 1.0, 5.0)
    }
    expected = plain.residual(params, EQUATIONS, rows)
    np.testing.assert_allclose(found[1.0], expected, rtol=1e-14)
    top = found[1.0] - found[0.0]
    assert np.min(np.abs(top)) > 0
    np.testing.assert_allclose(found[5.0], found[0.0] + 5 * top, rtol=1e-12)


def test_a_factor_multiplies_a_named_coefficient():
    chosen, rows = recipe(continuation=None), rows_of(np.linspace(0.1, 0.9, 7))
    plain, other = (
        Evaluator(Formulation(Layer(diffusion)), chosen, 0) for diffusion in (0.1, 0.7)
    )
    params = plain.initial_params()
    found = plain.with_factor(7.0, "diffusion").residual(params, EQUATIONS, rows)
    expected = other.residual(params, EQUATIONS, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.slow
def test_a_stuck_run_goes_through_easier_problems_and_reports_them():
    chosen = recipe(max_steps=300, continuation=Continuation())
    seen = []

    class Messages(Silent):
        def on_check(self, entry, seconds_left):
            seen.append(entry.get("message", ""))

    found = vrba.solve(Layer(diffusion=0.002), chosen, callback=Messages())
    first, *_ = said = [text for text in seen if text]
    assert first.startswith("Step 45: stuck; the residual is ")
    assert "Trying u.xx" in first and "(--no-continuation to disable)" in first
    assert said[-1].endswith("now the problem itself.")
    assert [entry["message"] for entry in found.record if "message" in entry] == said
    x = np.linspace(0, 1, 101)
    exact = x - np.exp((x - 1) / 0.002)
    error = np.linalg.norm(found(x) - exact) / np.linalg.norm(exact)
    plain = recipe(max_steps=90, continuation=None)
    without = vrba.solve(Layer(diffusion=0.002), plain, callback=Silent())
    stuck = np.linalg.norm(without(x) - exact) / np.linalg.norm(exact)
    assert error < 1e-3 < stuck and stuck > 0.5
    assert found.result["status"] is None
    assert without.result["status"] == "stalled"
    assert without.sentence().startswith("NOT SOLVED: the residual of `equations` is ")
    assert "Do not use this solution." in without.sentence()


@pytest.mark.parametrize("num_steps", [47])  # within the first level
def test_a_run_resumed_within_a_continuation_equals_the_unbroken_one(
    tmp_path, num_steps
):
    problem = Layer()
    whole = vrba.solve(problem, recipe(max_steps=75), callback=Silent())
    assert any("stuck" in entry.get("message", "") for entry in whole.record)
    few = recipe(max_steps=num_steps)
    vrba.solve(problem, few, run=tmp_path, callback=Silent())
    chosen = recipe(max_steps=75)
    found = vrba.solve(problem, chosen, run=tmp_path, resume=True, callback=Silent())
    x = np.linspace(0, 1, 9)
    np.testing.assert_array_equal(found(x), whole(x))
    messages = lambda one: [entry.get("message") for entry in one.record]
    assert messages(found) == messages(whole)


def test_a_named_coefficient_changes_from_the_first_step_on():
    settings = Continuation("diffusion", start=1.0, max_steps=5)
    found = vrba.solve(
        Layer(0.2), recipe(continuation=settings, max_steps=45), callback=Silent()
    )
    said = [entry["message"] for entry in found.record if "message" in entry]
    assert "now diffusion 1.25 times as large" in said[0]  # from five, divided by four
    assert said[-1].endswith("now the problem itself.")
    x = np.linspace(0, 1, 11)
    exact = x - np.expm1(x / 0.2) / np.expm1(5)
    np.testing.assert_allclose(found(x), exact, atol=1e-5)


def test_which_problems_are_continued():
    applies = lambda problem: Continuation().applies_to(Formulation(problem))
    assert applies(Layer())
    assert not applies(Growth())
    assert not applies_with_exact(Growth())
    assert Trainer(Evaluator(Formulation(Growth()), recipe(), 0)).continuation is None


def applies_with_exact(problem):
    formulation = Formulation(problem).with_exact_conditions()
    assert not formulation.conditions
    return Continuation().applies_to(formulation)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coefficient": "a"}, "first value"),
        ({"start": 1.0}, "first value"),
        ({"coefficient": "a", "start": -1.0}, "start"),
        ({"share": 2.0}, "share"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Continuation(**settings)


def test_a_named_coefficient_needs_a_second_order_optimizer_and_another_value():
    settings = Continuation("diffusion", start=1.0)
    chosen = recipe(continuation=settings, optimizer=vrba.optim.Adam())
    with pytest.raises(ValueError, match="needs an optimizer of second order"):
        vrba.solve(Layer(), chosen, callback=Silent())
    same = recipe(continuation=Continuation("diffusion", start=1e-3))
    with pytest.raises(ValueError, match="which is the value of the problem"):
        vrba.solve(Layer(), same, callback=Silent())


def test_an_unknown_coefficient_is_refused():
    chosen = recipe(continuation=Continuation("viscosity", start=1.0))
    with pytest.raises(ValueError, match="changes `viscosity`, which must be a pos"):
        vrba.solve(Layer(), chosen, callback=Silent())


def test_a_run_is_unsolved_while_its_residual_is_large():
    falling = [{"score": 2.0**-k} for k in range(9)]
    flat = [{"score": 1.0}] * 9
    assert unsolved_status(0.01, flat) is None
    assert unsolved_status(0.5, flat) == "stalled"
    assert unsolved_status(0.5, falling) == "improving"
    assert unsolved_status(0.5, []) == "improving"
