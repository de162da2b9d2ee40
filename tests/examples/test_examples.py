"""The examples run with a small budget."""

import dataclasses
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import vrba
from tests.pinn.cases import Decay, tiny_recipe
from vrba.cli.problem_argument import load_problem
from vrba.runs import Silent

EXAMPLES = Path(__file__).parents[2] / "examples"
# fast_wave is `Advection` without `FourierFeatures`
PROBLEMS = ["my_pde", "sweep", "inverse", "operator_from_equation", "two_materials"]

pytestmark = pytest.mark.xdist_group("train")


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem != "sharp_front")
)
def test_examples_are_short(name):
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    assert len(lines) <= 40


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_few_steps_lower_the_residual(name):
    problem = load_problem(str(EXAMPLES / f"{name}.py"), ())
    recipe = tiny_recipe(optimizer=vrba.optim.Adam(0.01), max_steps=30)
    if problem.model is not None:
        recipe = dataclasses.replace(recipe, model=problem.model)
    solution = vrba.solve(problem, recipe, callback=Silent())
    residuals = [entry["residual_l2"] for entry in solution.record]
    assert residuals[-1] < residuals[0]
    assert np.isfinite(solution.result["errors"]["last"])


def test_the_operator_is_compared_with_what_differences_give():
    example = load("operator_from_equation")
    problem, c = example.AnyBurgers(), (0.9, -0.8, 0.7, -1.0)
    x = np.linspace(0, 1, 301)

    def rate(t, inner):
        u = np.pad(inner, 1)
        slope, bend = u[2:] - u[:-2], u[2:] - 2 * u[1:-1] + u[:-2]
        return problem.viscosity * bend / x[1] ** 2 - inner * slope / x[1] / 2

    start = example.series(x[1:-1], c, np.sin)
    settings = {"method": "LSODA", "lband": 1, "uband": 1, "rtol": 1e-8, "atol": 1e-10}
    found = solve_ivp(rate, (0, 1), start, **settings)
    ours = problem.reference()(1.0, x[1:-1], *c)
    assert np.linalg.norm(found.y[:, -1] - ours) < 1e-4 * np.linalg.norm(ours)


def test_half_of_burgers_is_half_of_its_solution():
    half = load("half_burgers").HalfBurgers()
    ours, whole = half.reference(), vrba.problems.Burgers().reference()
    both = np.concatenate([-ours.values[:, :0:-1], ours.values], axis=1)
    np.testing.assert_allclose(both, whole.values, atol=10 * whole.error)
    (form,) = half.conditions()
    t, ends = np.array([0.0, 0.0, 0.3, 0.3]), np.array([0.2, 0.7, 0.0, 1.0])
    values = form.fn(t, ends, 5.0)  # whatever the network says
    np.testing.assert_allclose(values, -np.sin(np.pi * ends), atol=1e-15)


def test_a_potential_of_ones_own_draws_points():
    example = load("custom_potential")
    sizes = {"num_points": 64, "pool_size": 256, "num_held_out": 64}
    sizes |= {"model": vrba.MLP(width=5, depth=1), "check_every": 2}
    sizes |= {"optimizer": vrba.optim.Adam(), "max_steps": 4}
    solution = example.solve(Decay(), **sizes)
    policy = solution.recipe.policy
    assert policy.potential is example.POTENTIAL
    assert solution.record[-1]["effective_size"] < 256
