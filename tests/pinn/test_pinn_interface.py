"""Problems with interfaces in a run: accuracy, both sides, files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrba
from tests.pinn.cases import tiny_recipe
from vrba.optim import LevenbergMarquardt
from vrba.pinn import Polish, Solution
from vrba.runs import Silent

pytestmark = pytest.mark.xdist_group("polish")

PLACE, LEFT, RIGHT = 0.4, 1.0, 10.0
STAGE = Polish(num_features=100, max_steps=2, num_rounds=2, pool_factor=2)


def place(x):
    return x - PLACE


def rod(x):
    """`k u' = c - x`, with `c` from `u(0) = u(1) = 0`."""
    squares = PLACE**2 / LEFT + (1 - PLACE**2) / RIGHT
    c = squares / 2 / (PLACE / LEFT + (1 - PLACE) / RIGHT)
    left = (c * x - x**2 / 2) / LEFT
    right = (c * (x - 1) - (x**2 - 1) / 2) / RIGHT
    return np.where(x < PLACE, left, right)


class Rod(vrba.Problem):
    """`(k u')' = -1`, where `k` jumps from 1 to 10."""

    domain = vrba.Box(x=(0, 1))

    def equations(self, u, x):
        k = jnp.where(place(x) < 0, LEFT, RIGHT)
        return {"heat": k * u.xx + 1}

    def conditions(self):
        return [vrba.Dirichlet(0.0, on="x"), vrba.Interface(place, (LEFT, RIGHT))]

    def reference(self):
        return vrba.Reference.from_function(self.domain, rod, (201,))


def recipe(**settings):
    chosen = {"optimizer": LevenbergMarquardt(), "polish": STAGE, "max_steps": 12}
    sizes = {"num_points": 128, "pool_size": 512, "num_held_out": 128}
    return tiny_recipe(**(chosen | sizes | settings))


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "rod"
    return vrba.solve(Rod(), recipe(), run=path, callback=Silent()), path


def test_the_linear_stage_reaches_rounding_errors(solved):
    assert solved[0].result["errors"]["selected"] < 1e-12


def test_both_sides_of_the_solution(solved):
    """The value is continuous, and the derivative jumps with the coefficient."""
    beside = np.array([PLACE - 1e-13, PLACE + 1e-13])
    values = solved[0](beside)
    slopes = solved[0].evaluate(lambda u, x: u.x, beside)
    np.testing.assert_allclose(values, rod(PLACE), rtol=1e-11)
    np.testing.assert_allclose(LEFT * slopes[0], RIGHT * slopes[1], rtol=1e-10)
    assert solved[0].evaluate(lambda u, x: u.x, PLACE) == pytest.approx(slopes[1])
    assert jax.grad(solved[0])(beside[0]) == pytest.approx(slopes[0], rel=1e-12)


def test_a_loaded_solution_is_the_same_function(solved):
    x = np.linspace(0, 1, 21)
    np.testing.assert_array_equal(Solution.load(solved[1], Rod())(x), solved[0](x))


def test_a_resumed_run_is_that_without_a_break(solved, tmp_path):
    few = recipe(polish=None, max_steps=5)
    vrba.solve(Rod(), few, run=tmp_path, callback=Silent())
    found = vrba.solve(Rod(), recipe(), run=tmp_path, resume=True, callback=Silent())
    same = jax.tree.map(np.array_equal, found.params, solved[0].params)
    assert all(jax.tree.leaves(same))


def test_exact_conditions_on_both_sides():
    chosen = recipe(exact_conditions=True, polish=None, max_steps=1)
    found = vrba.solve(Rod(), chosen, callback=Silent())
    assert list(found.result["residuals"]) == ["equations", "flux", "jump"]
    np.testing.assert_allclose(found(np.array([0.0, 1.0])), 0, atol=1e-15)


class Disk(vrba.Problem):
    """`-k (u_xx + u_yy) = 4`, where `k` is `contrast` in a disk and 1 outside."""

    contrast: float = 10.0
    domain = vrba.Box(x=(-1, 1), y=(-1, 1))

    def level(self, x, y):
        return x**2 + y**2 - 0.25

    def equations(self, u, x, y):
        k = jnp.where(self.level(x, y) < 0, self.contrast, 1.0)
        return {"heat": k * (u.xx + u.yy) + 4}

    def conditions(self):
        walls = vrba.Dirichlet(lambda x, y: 1 - x**2 - y**2, on=self.domain)
        return [walls, vrba.Interface(self.level, (self.contrast, 1.0))]

    def reference(self):
        def exact(x, y):
            level = self.level(x, y)
            return 0.75 - np.where(level < 0, level / self.contrast, level)

        return vrba.Reference.from_function(self.domain, exact, (41, 41))


@pytest.mark.slow
def test_a_disk_of_another_material():
    settings = {"num_points": 512, "pool_size": 2048, "num_held_out": 512}
    settings |= {"model": vrba.MLP(width=8, depth=2), "num_condition_points": 256}
    stage = Polish(num_features=300, max_steps=1, num_rounds=2, pool_factor=2)
    chosen = recipe(**settings, max_steps=20, polish=stage)
    found = vrba.solve(Disk(), chosen, callback=Silent())
    assert found.result["errors"]["selected"] < 1e-8
