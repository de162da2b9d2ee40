"""Singular functions in the linear stage: accuracy, files, and what is announced."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.optim import LevenbergMarquardt
from vrba.pinn import Polish, Solution
from vrba.runs import POLISH_STEP, Silent

pytestmark = pytest.mark.xdist_group("polish")

L_SHAPE = vrba.Polygon([(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)])
STAGE = Polish(num_features=400, max_steps=2, num_rounds=2, pool_factor=2)


def corner_solution(x, y):
    """`r^(2/3) sin(2 phi / 3)` and a smooth part."""
    angle = jnp.arctan2(-x - y, y - x) + 0.75 * math.pi  # zero at `y = 0, x > 0`
    part = (x**2 + y**2) ** (1 / 3) * jnp.sin(2 / 3 * angle)
    return part + jnp.exp(x / 2) * jnp.cos(y)


class Corner(vrba.Problem):
    """`u_xx + u_yy = f` with plain conditions."""

    domain = L_SHAPE

    def equations(self, u, x, y):
        return {"load": u.xx + u.yy + 0.75 * jnp.exp(x / 2) * jnp.cos(y)}

    def conditions(self):
        return [vrba.Dirichlet(corner_solution, on=self.domain)]

    def reference(self):
        return vrba.Reference.from_function(self.domain, corner_solution, (41, 41))


def recipe(polish=STAGE):
    return tiny_recipe(polish=polish, optimizer=LevenbergMarquardt(), max_steps=6)


class Recorder(Silent):
    """Keep the plan; die after a step of the linear stage, if told."""

    def __init__(self, last_step=None):
        self.last_step, self.plan = last_step, None

    def on_start(self, plan):
        self.plan = plan

    def on_check(self, entry, seconds_left):
        if entry.get(POLISH_STEP, 0) == self.last_step:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "corner"
    recorder = Recorder()
    return vrba.solve(Corner(), recipe(), run=path, callback=recorder), path, recorder


def test_they_gain_orders_of_magnitude(solved):
    """Without them the singular part limits the error."""
    without = dataclasses.replace(STAGE, has_singular=False)
    other = vrba.solve(Corner(), recipe(without), callback=Silent())
    error = solved[0].result["errors"]["selected"]
    assert error < 1e-3 * other.result["errors"]["selected"] and error < 1e-6


def test_the_coefficient_is_found(solved):
    """The first function of the corner is the solution's singular part."""
    singular = solved[0].params.singular
    assert singular.shape == (1, 5)
    np.testing.assert_allclose(singular, [[1, 0, 0, 0, 0]], atol=1e-6)


def test_they_are_announced(solved):
    text = solved[2].plan.text()
    assert "Singular functions of the linear stage: 5 at (0, 0)." in text
    recorder = Recorder()
    vrba.solve(Corner(), recipe(None), callback=recorder)
    assert "Singular" not in recorder.plan.text()


def test_a_loaded_solution_is_the_same_function(solved, tmp_path):
    solution, path, _ = solved
    x, y = np.array([-0.5, 0.0, 0.2, 0.0]), np.array([-0.5, 0.0, 0.3, -0.4])
    loaded = Solution.load(path, Corner())
    np.testing.assert_array_equal(loaded(x, y), solution(x, y))
    copy = Solution.load(solution.save(tmp_path / "copy"), Corner())
    np.testing.assert_array_equal(copy(x, y), solution(x, y))
    found = loaded.evaluate(lambda u, x, y: {"slope": u.x, "bend": u.yy}, x, y)
    assert all(np.all(np.isfinite(values)) for values in found.values())


def test_a_stage_that_was_stopped_goes_on_bit_for_bit(solved, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        vrba.solve(Corner(), recipe(), run=tmp_path, callback=Recorder(1))
    found = vrba.solve(Corner(), run=tmp_path, resume=True, callback=Silent())
    same = jax.tree.map(np.array_equal, found.params, solved[0].params)
    assert all(jax.tree.leaves(same))


class Slit(vrba.Problem):
    """`u = x + x sqrt(r)` over time, by a hard constraint and a function of `x, y`."""

    domain = vrba.Box(t=(0, 1)) * vrba.Disk(1.0)

    def equations(self, u, t, x, y):
        root = jnp.sqrt(x**2 + y**2 + 1e-30)
        return {"value": u - x - x * jnp.sqrt(root)}

    def conditions(self):
        root = vrba.Singular(lambda r, phi: jnp.sqrt(r), (0, 0), on=("x", "y"))
        return [vrba.Ansatz(lambda t, x, y, N: x + x * N), root]


def test_an_ansatz_multiplies_them():
    solution = vrba.solve(Slit(), recipe(), callback=Silent())
    np.testing.assert_allclose(solution.params.singular, [[1.0]], rtol=1e-6)
    assert solution.result["residual_l2"] < 1e-6
