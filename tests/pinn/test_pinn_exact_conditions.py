"""Exact conditions in a run: they hold, are announced, and survive the files."""

import jax.numpy as jnp
import numpy as np

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.optim import LevenbergMarquardt
from vrba.pinn import Polish, Solution
from vrba.runs import Silent


class Plain(vrba.Problem):
    """`u_t = u_xx` with initial and boundary values as terms of the loss."""

    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, t, x):
        return {"heat": u.t - u.xx}

    def conditions(self):
        start = vrba.Initial(lambda x: jnp.sin(jnp.pi * x))
        return [start, vrba.Dirichlet(0.0, on="x")]

    def reference(self):
        exact = lambda t, x: jnp.exp(-(jnp.pi**2) * t) * jnp.sin(jnp.pi * x)
        return vrba.Reference.from_function(self.domain, exact, (17, 17))


class Planned(Silent):
    def on_start(self, plan):
        self.plan = plan


def recipe(**settings):
    stage = Polish(num_features=60, max_steps=1, num_rounds=2, pool_factor=2)
    chosen = {"optimizer": LevenbergMarquardt(), "max_steps": 6, "polish": stage}
    return tiny_recipe(**(chosen | settings))


def test_a_run_with_exact_conditions(tmp_path):
    callback = Planned()
    chosen = recipe(exact_conditions=True)
    found = vrba.solve(Plain(), chosen, run=tmp_path, callback=callback)
    assert "Exact conditions: initial, dirichlet x." in callback.plan.text()
    assert list(found.result["residuals"]) == ["equations"]
    x = np.linspace(0, 1, 11)
    for solution in (found, found.before_polish, Solution.load(tmp_path, Plain())):
        np.testing.assert_allclose(solution(0.0, x), np.sin(np.pi * x), atol=1e-14)
        np.testing.assert_allclose(solution(x, 1.0), 0, atol=1e-14)
    t = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(Solution.load(tmp_path, Plain())(t, t), found(t, t))


def test_without_the_setting_conditions_are_penalties():
    callback = Planned()
    found = vrba.solve(Plain(), recipe(polish=None), callback=callback)
    assert set(found.result["residuals"]) == {"equations", "initial", "dirichlet x"}
    assert "Exact conditions" not in callback.plan.text()


def test_a_resumed_run_keeps_its_exact_conditions(tmp_path):
    chosen = recipe(exact_conditions=True, polish=None)
    whole = vrba.solve(Plain(), chosen, callback=Silent())
    few = recipe(exact_conditions=True, polish=None, max_steps=3)
    vrba.solve(Plain(), few, run=tmp_path, callback=Silent())
    found = vrba.solve(Plain(), chosen, run=tmp_path, resume=True, callback=Silent())
    np.testing.assert_array_equal(found(0.3, 0.4), whole(0.3, 0.4))


class Swapped(vrba.Problem):
    """Two fields whose names are not in alphabetical order."""

    fields = ("w", "a")
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, w, a, t, x):
        return {"one": w.t - a.xx, "two": a.t - w.x}

    def conditions(self):
        return [vrba.Initial(3.0, field="w"), vrba.Initial(-2.0, field="a")]


def test_each_field_has_its_own_conditions_in_compiled_programs():
    chosen = recipe(exact_conditions=True, polish=None, max_steps=1)
    found = vrba.solve(Swapped(), chosen, callback=Silent())
    values = found(0.0, np.linspace(0, 1, 5))
    np.testing.assert_allclose(values["w"], 3, atol=1e-14)
    np.testing.assert_allclose(values["a"], -2, atol=1e-14)
