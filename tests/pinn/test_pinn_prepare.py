"""Scales, weights by traces and the form of conditions, found before training."""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.core import flatten
from vrba.optim import LevenbergMarquardt
from vrba.pinn import (
    Evaluator,
    FixedBalance,
    FormRace,
    Preparation,
    Solution,
    TraceBalance,
    find_scales,
    prepare,
    traces_of,
)
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import Silent


class Plate(vrba.Problem):
    """`1000 u_xx = 1` with a value and a slope as conditions."""

    size: float = 1000.0
    value: float = 40.0
    weight: float | None = None
    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"bending": self.size * u.xx - 1}

    def conditions(self):
        penalty = vrba.Penalty(weight=self.weight)
        ends = [vrba.Dirichlet(self.value, on="x", at=0)]
        return [*ends, vrba.Neumann(1.0, on="x", at=1, penalty=penalty)]


def recipe(**settings):
    chosen = {"optimizer": LevenbergMarquardt(), "balance": TraceBalance()}
    return tiny_recipe(**(chosen | settings))


def exact_trace(evaluator, name, rows):
    vector, rebuild = flatten(evaluator.initial_params())
    term = evaluator.terms[name]
    fn = lambda vector: jax.vmap(lambda row: term(rebuild(vector), row))(rows)
    return float(jnp.mean(jnp.sum(jax.jacrev(fn)(vector) ** 2, axis=-1)))


def test_traces_are_mean_squares_of_jacobians():
    evaluator = Evaluator(Formulation(Plate()), recipe(), 0)
    points = jnp.linspace(0, 1, 20)[:, None]
    rows = {EQUATIONS: (points, jnp.zeros_like(points))}
    terms = {EQUATIONS: evaluator.terms[EQUATIONS]}
    found = traces_of(evaluator, terms, evaluator.initial_params(), rows)
    expected = exact_trace(evaluator, EQUATIONS, rows[EQUATIONS])
    # 32 random directions: a factor of two is four standard deviations of one direction
    assert expected / 2 < found[EQUATIONS] < 2 * expected


def test_weights_make_residuals_equally_sensitive():
    """An equation 10 times as large has 100 times the weight of its conditions."""
    weights = [
        prepare(Formulation(Plate(size)), recipe(), 0, None).evaluator.term_weights
        for size in (1000.0, 10_000.0)
    ]
    names = [name for name in weights[0] if name != EQUATIONS]
    assert weights[0][EQUATIONS] == weights[1][EQUATIONS] == 1
    assert len(names) == 2 and min(weights[0][name] for name in names) > 100
    ratios = [weights[1][name] / weights[0][name] for name in names]
    np.testing.assert_allclose(ratios, 100, rtol=1e-9)


def test_a_weight_of_the_user_wins():
    found = prepare(Formulation(Plate(weight=7.0)), recipe(), 0, None)
    weights = found.evaluator.term_weights
    assert weights["neumann x=1"] == 7 and weights["dirichlet x=0"] > 100
    plain = prepare(Formulation(Plate()), recipe(balance=FixedBalance()), 0, None)
    assert set(plain.evaluator.term_weights.values()) == {1.0}


def test_terms_that_nothing_changes_keep_their_weight():
    traces = {"e": 4.0, "a": 2.0, "b": 0.0, "c": math.inf, "d": math.nan}
    assert TraceBalance().initial_weights(lambda: dict(traces), "e") == {"a": 2.0}
    assert TraceBalance().initial_weights(lambda: {"e": 0.0, "a": 1.0}, "e") == {}


class Pair(vrba.Problem):
    """Two fields of different size."""

    fields = ("u", "p")
    start: float = 1.0
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, p, t, x):
        return {"one": u.t - p.xx, "two": p.t - u.x}

    def conditions(self):
        return [
            vrba.Initial(lambda x: 30 * jnp.cos(x), field="p"),
            vrba.Initial(5000.0, order=1, field="p"),
            vrba.Initial(self.start, field="u"),
            vrba.Data([[0.5, 0.5]], [-2.0], field="u"),
        ]


def test_scales_are_the_largest_given_values():
    found = find_scales(Formulation(Pair()))
    assert set(found) == {"p"} and 29.9 < found["p"] <= 30
    assert find_scales(Formulation(Pair(start=-0.01)))["p"] == found["p"]
    assert find_scales(Formulation(Pair(start=-400.0)))["u"] == 400
    assert find_scales(Formulation(Plate())) == {"u": 40}
    assert find_scales(Formulation(Plate(value=0.0))) == {}


def test_an_ansatz_of_the_user_has_no_scales():
    class Own(Plate):
        def conditions(self):
            return [vrba.Ansatz(lambda x, N: 40 + x * N), vrba.Dirichlet(40.0, on="x")]

    assert find_scales(Formulation(Own())) == {}


def test_scales_multiply_the_outputs_of_the_network():
    points = jnp.linspace(0, 1, 5)[:, None]
    formulation = Formulation(Plate())
    found = [
        Evaluator(formulation, recipe(), 0, preparation=Preparation(scales=scales))
        for scales in ({}, {"u": 40.0})
    ]
    each = [one.fields(one.initial_params(), points)["u"] for one in found]
    np.testing.assert_allclose(each[1], 40 * each[0], rtol=1e-14)


def test_a_run_keeps_what_was_prepared(tmp_path):
    chosen = recipe(max_steps=8, has_scales=True)
    whole = vrba.solve(Plate(), chosen, callback=Silent())
    assert whole.evaluator.formulation.scales == (40.0,)
    few = recipe(max_steps=4, has_scales=True)
    vrba.solve(Plate(), few, run=tmp_path, callback=Silent())
    stored = json.loads((tmp_path / "recipe.json").read_text())["preparation"]
    assert stored == whole.result["manifest"]["preparation"]
    found = vrba.solve(Plate(), chosen, run=tmp_path, resume=True, callback=Silent())
    np.testing.assert_array_equal(found(0.3), whole(0.3))
    loaded = Solution.load(tmp_path, Plate())
    assert loaded.evaluator.term_weights == whole.evaluator.term_weights
    np.testing.assert_array_equal(loaded(0.3), whole(0.3))


class Rising(vrba.Problem):
    """`u_xx = 0` between zero and one: the interpolation is the solution."""

    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        return {"bending": u.xx}

    def conditions(self):
        return [vrba.Dirichlet(lambda x: x, on="x")]


def test_a_race_keeps_the_form_with_the_lower_score():
    chosen = recipe(exact_conditions=True, race=FormRace(), max_steps=100)
    found = prepare(Formulation(Rising()), chosen, 0, None)
    race = found.evaluator.preparation.race
    assert race["steps"] == 10
    assert found.evaluator.preparation.is_exact == (race["exact"] <= race["penalty"])
    assert found.params is not None
    short = recipe(exact_conditions=True, race=FormRace(), max_steps=20)
    found = prepare(Formulation(Rising()), short, 0, None)
    assert found.evaluator.preparation.race == {} and found.params is None


@pytest.mark.parametrize("settings", [{"max_steps": 0}, {"time_share": 0.7}])
def test_bad_settings_of_a_race(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        FormRace(**settings)
