"""The one shot beside FastLSQ: the same problems, and times that follow from curves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from benchmarks import one_shot, one_shot_page
from benchmarks.peers.cases import CASES, FEATURE_CASES
from vrba.compare import known_problems
from vrba.pinn import Evaluator, Recipe
from vrba.problems import EQUATIONS, Formulation

ALL = pytest.mark.parametrize("name", FEATURE_CASES)


def applied(case, function, point):
    """The case's equations for any function: left side minus source."""
    value, total = function(point), -case.source(jnp, *point)
    for index, factor in case.operator.items():
        derivative = function
        for axis, order in enumerate(index):
            for _ in range(order):
                derivative = along(derivative, axis)
        total += factor * derivative(point)
    return total + case.cubic * value**3


def along(function, axis):
    direction = jnp.zeros(2).at[axis].set(1.0)
    return lambda point: jax.jvp(function, (point,), (direction,))[1]


@ALL
def test_fastlsq_solves_the_problem_of_the_package(name):
    """One network of vrba has the same residuals in both."""
    case, problem = FEATURE_CASES[name], known_problems()[name]()
    model = vrba.MLP(width=5, depth=1)
    recipe = Recipe(model=model, num_points=64, pool_size=64, num_held_out=16)
    evaluator = Evaluator(Formulation(problem), recipe, 0)
    params = evaluator.initial_params()
    random = np.random.default_rng(0)
    box = CASES[name]
    points = jnp.asarray(random.uniform(box.lower, box.upper, (64, 2)))
    field = lambda point: evaluator.fields(params, point[None])["u"][0]
    found = jax.vmap(lambda point: applied(case, field, point))(points)
    rows = points, jnp.zeros((64, 0))
    expected = evaluator.residual(params, EQUATIONS, rows)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)


@ALL
def test_the_exact_solution_of_a_case_is_the_reference(name):
    case, reference = FEATURE_CASES[name], known_problems()[name]().reference()
    values = case.exact(np, *reference.points().T)
    np.testing.assert_allclose(values, np.ravel(reference.values), atol=1e-14)
    points = jnp.asarray(reference.points()[::997])
    exact = lambda point: case.exact(jnp, *point)
    residual = jax.vmap(lambda point: applied(case, exact, point))(points)
    np.testing.assert_allclose(residual, 0.0, atol=1e-10)


@ALL
def test_given_derivatives_on_sides_are_zero(name):
    case = FEATURE_CASES[name]
    for axis, end, order in case.sides:
        place = (CASES[name].lower, CASES[name].upper)[end][axis]
        point = jnp.asarray([0.3, 0.6]).at[axis].set(place)
        if order:
            derivative = along(lambda point: case.exact(jnp, *point), axis)
            assert abs(float(derivative(point))) < 1e-12


def run_of(curve, **settings):
    settings = {"problem": "poisson", "method": "fastlsq-5", "seed": 0} | settings
    return {"curve": curve, "scale": 5.0, "failure": ""} | settings


def test_times_are_those_of_the_first_error_below_a_limit():
    run = run_of([[1.0, 1e-3], [2.0, 5e-7], [3.0, 2e-6], [4.0, 5e-9]])
    assert one_shot_page.time_to(run, 1e-6) == 2.0
    assert one_shot_page.time_to(run, 1e-8) == 4.0
    assert one_shot_page.time_to(run, 1e-9) is None
    assert one_shot_page.time_text([None]) == "never"
    assert one_shot_page.time_text([1.0, None, 3.0]) == "3.0 s (1 of 3 never)"


def test_the_best_scale_meets_the_lowest_error_first():
    slow, fast = run_of([[9.0, 1e-9]]), run_of([[2.0, 5e-9]])
    near, far = run_of([[1.0, 5e-7]]), run_of([[1.0, 1e-2]])
    assert one_shot_page.best_of([far, slow, near, fast]) is fast
    assert one_shot_page.best_of([far, near]) is near


def test_every_problem_is_solved_by_every_method():
    cases = one_shot.all_cases(list(FEATURE_CASES), 2)
    methods = 1 + len(one_shot.SCALES)
    assert len({case.name for case in cases}) == 2 * methods * len(FEATURE_CASES)
    assert "--tolerance" in cases[0].command()
