"""Published recipes by name."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import vrba
from tests.cli.cases import call
from vrba import adapt, optim
from vrba.cli._base import UsageError
from vrba.cli.recipe import RecipeFlags, dtype_asked, new_recipe, resumed_recipe
from vrba.compare import unbiased_policy
from vrba.core import describe, use_precision
from vrba.fields import Field
from vrba.pinn import GradientNorms, num_params_of, published
from vrba.problems import AllenCahn, Burgers, Formulation, Poisson
from vrba.runs import SOLVE, RunFolder, describe_problem

pytestmark = pytest.mark.xdist_group("recipes")  # one folder

SMALL = ["--points", 16, "--pool", 32, "--width", 4, "--depth", 1]


def test_second_order_as_published():
    """Toscano et al. (2025), tables 1B and 3: 2,011 parameters."""
    recipe = published.ssbroyden_sampling()
    problem = Burgers(is_periodic=True)
    assert num_params_of(Formulation(problem), recipe.model) == 2011
    assert (recipe.num_points, recipe.pool_size) == (20_000, 200_000)
    assert recipe.resample_every == 100 and recipe.dtype == "float64"
    stages = recipe.optimizer.stages
    assert stages[0].until == optim.AfterSteps(5000)
    assert recipe.optimizer.last.update == optim.SSBroyden()
    assert recipe.policy.potential == adapt.Quadratic()
    state = recipe.policy.init(4)
    sizes = jnp.asarray([1.0, 2.0, 3.0, 4.0])
    after = recipe.policy.update(state, sizes)
    before = np.asarray(state.weight)
    np.testing.assert_allclose(after.weight, 0.1 * before + 0.9 * sizes / 4)


@pytest.mark.parametrize(
    ("potential", "mix"),
    [(None, 0.8), (adapt.Exponential(), 0.8), (adapt.Quadratic(), 1)],
)
def test_first_order_as_published(potential, mix):
    """Table 1A: the published network has an input of ones and 64 parameters more."""
    recipe = published.adam_weighting(potential)
    problem = AllenCahn(is_soft=True, soft_weight=100.0, modes=10)
    assert num_params_of(Formulation(problem), recipe.model) == 22_337 - 64
    assert (recipe.num_points, recipe.pool_size) == (10_000, 25_600)
    assert recipe.max_steps == 300_000 and recipe.dtype == "float32"
    assert recipe.balance == GradientNorms(inertia=0.99975, memory=0.99)
    assert recipe.policy.smoothing.mix == mix and recipe.policy.smoothing.rate == 0.01
    cap = adapt.GrowingCap(10.0, 20.0, 50_000.0, start=0.1)
    assert recipe.policy.smoothing.memory == cap
    state = recipe.policy.init(4)
    np.testing.assert_allclose(state.weight, 0.1)
    state = recipe.policy.update(state, jnp.asarray([0.0, 1.0, 2.0, 3.0]))
    weights = recipe.policy.weights(state)  # not corrected for how points are drawn
    np.testing.assert_allclose(weights, state.weight)
    shares = state.weight / jnp.sum(state.weight)
    drawn = (1 - recipe.policy.floor) * shares + recipe.policy.floor / 4
    np.testing.assert_allclose(recipe.policy.probability(state), drawn, rtol=1e-6)
    assert recipe.policy.is_sampling() and not recipe.policy.is_unbiased()
    assert recipe.optimizer == optim.Adam(1e-3, optim.Decaying(0.9, 5000))


def test_without_a_tilt_the_weights_of_the_first_order_recipe_still_grow():
    """The control of table 1A: the same schedule for all points, drawn evenly."""
    policy = published.adam_weighting(adapt.Linear()).policy
    state = policy.init(4)
    for _ in range(3):
        state = policy.update(state, jnp.asarray([0.0, 1.0, 2.0, 3.0]))
    decay = 1 - 0.01 / 10  # of the first cap
    expected = 0.1 * decay**3 + 0.01 * (1 + decay + decay**2)
    np.testing.assert_allclose(policy.weights(state), expected, rtol=1e-6)
    np.testing.assert_allclose(policy.probability(state), 0.25)


def test_published_forms_of_the_problems():
    periodic, ansatz = Burgers(is_periodic=True).conditions()
    assert (periodic.on, periodic.modes) == ("x", 1)
    t, x = jnp.asarray(0.5), jnp.asarray(0.3)
    found = ansatz.fn(t, x, jnp.asarray(2.0))
    assert float(found) == pytest.approx(-np.sin(0.3 * np.pi) + 0.5 * 2.0)
    periodic, initial = AllenCahn(is_soft=True, soft_weight=7.0, modes=3).conditions()
    assert periodic.modes == 3 and initial.penalty.weight == 7.0


def test_draws_of_a_recipe_can_be_corrected():
    made = lambda **flags: new_recipe(RecipeFlags(**flags), Burgers(), None, None)
    flags = {"recipe": "ssbroyden-sampling", "potential": "exponential"}
    plain, other = (made(policy=p, **flags) for p in ("default", "vrba-unbiased"))
    assert not plain.policy.is_unbiased() and other.policy.is_unbiased()
    assert dataclasses.replace(other.policy, correction=None) == plain.policy
    assert made(policy="vrba-unbiased") == made()  # as Levenberg-Marquardt has it
    around = unbiased_policy(adapt.Causal(plain.policy))
    assert around == adapt.Causal(other.policy)
    with pytest.raises(UsageError, match="`Weighting` of the recipe changes"):
        made(recipe="adam-weighting", policy="vrba-unbiased")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adam-weighting", "ssbroyden-sampling"])
def test_a_published_recipe_resumes_bit_for_bit(name, tmp_path, monkeypatch):
    """In float32 and in float64; in both stages of the optimizer sequence."""
    monkeypatch.setattr("vrba.cli.solve.write_page", lambda *_, **__: None)
    words = ["solve", "burgers", "--recipe", name, *SMALL, "--diagnose", 0]
    assert call(*words, "--steps", 6, "--out", tmp_path / "whole")[0] == 0
    assert call(*words, "--steps", 3, "--out", tmp_path / "parts")[0] == 0
    resumed = ["solve", "--resume", tmp_path / "parts", "--steps", 6]
    assert call(*resumed)[0] == 0
    one, two = (
        np.load(tmp_path / name / "checkpoint" / "latest.npz")
        for name in ("whole", "parts")
    )
    arrays = [key for key in one.files if one[key].dtype.kind == "f"]
    assert arrays and sorted(one.files) == sorted(two.files)
    for key in arrays:
        np.testing.assert_array_equal(one[key], two[key])


def test_numbers_have_the_digits_of_the_recipe():
    assert dtype_asked(None, None) == "float64"
    assert dtype_asked(None, "adam-weighting") == "float32"
    assert dtype_asked("float64", "adam_weighting") == "float64"


class Fixed(vrba.Problem):
    domain = vrba.Box(t=(0, 1))
    model = vrba.MLP(7, 2)

    def equations(self, u: Field, t):
        return {"decay": u.t + u}

    def conditions(self):
        return [vrba.Ansatz(lambda t, N: 1 + t * N)]


def recipe_of(problem, **flags):
    with use_precision("float64"):
        return new_recipe(RecipeFlags(**flags), problem, None, None)


def test_flags_go_on_top_of_a_recipe():
    recipe = recipe_of(
        Burgers(),
        recipe="ssbroyden-sampling",
        potential="cosh",
        points=50,
        pool=80,
        width=9,
        steps=4,
    )
    assert recipe.policy.potential == adapt.Cosh() and recipe.max_steps == 4
    assert (recipe.num_points, recipe.pool_size) == (50, 80)
    assert recipe.model == vrba.MLP(9, 3)
    even = recipe_of(Burgers(), recipe="ssbroyden-sampling", policy="uniform")
    usual = published.ssbroyden_sampling()
    assert even.policy == adapt.presets.uniform() and even.model == usual.model
    assert even.policy.draws == usual.policy.draws  # nothing differs but the tilt
    assert even.policy.floor == usual.policy.floor


def test_a_problem_keeps_the_network_it_brings():
    assert recipe_of(Fixed(), recipe="adam-weighting").model == Fixed.model


@pytest.mark.parametrize(
    ("problem", "flags", "text"),
    [
        (Burgers(), {"optimizer": "lm"}, "does not fit"),
        (Poisson(), {"policy": "causal"}, "needs a coordinate `t`"),
        (
            Burgers(),
            {"recipe": "ssbroyden"},
            "There are: adam-weighting, ssbroyden-sampling",
        ),
    ],
)
def test_what_does_not_fit_a_recipe_is_refused(problem, flags, text):
    with pytest.raises(ValueError, match=text):
        recipe_of(problem, **({"recipe": "ssbroyden-sampling"} | flags))


def test_recipes_are_listed():
    _, out, _ = call("list", "recipes", "--json")
    names = {name for e in json.loads(out)["recipes"] for name in e["names"]}
    assert names == {"adam-weighting", "ssbroyden-sampling"}


@pytest.mark.parametrize("part", ["optimizer", "policy"])
def test_what_a_folder_cannot_give_is_given_again(part, tmp_path):
    unread = {
        "optimizer": optim.FromOptax(optax.adam(1e-3)),
        "policy": vrba.Sampling(vrba.adapt.Custom(lambda s: s**2)),
    }
    recipe = vrba.Recipe(num_points=7, **{part: unread[part]})
    manifest = {
        "kind": SOLVE,
        "problem": describe_problem(Poisson()),
        "recipe": describe(recipe),
        "seed": 0,
        "minutes": None,
        "block_size": 8,
    }
    RunFolder(tmp_path).write_manifest(manifest)
    with pytest.raises(UsageError, match=f"`--{part} NAME`"):
        resumed_recipe(RecipeFlags(), tmp_path)
    word = {"optimizer": "adam", "policy": "rad"}[part]
    found = resumed_recipe(RecipeFlags(**{part: word}), tmp_path)
    assert found.num_points == 7
    given = {"optimizer": optim.Adam(), "policy": adapt.presets.rad()}
    assert getattr(found, part) == given[part]


def test_a_large_width_selects_an_optimizer_without_a_matrix():
    for width, kind in ((20, optim.LevenbergMarquardt), (64, optim.Adam)):
        recipe = recipe_of(Burgers(), width=width)
        assert recipe.model.width == width
        assert isinstance(recipe.optimizer, kind)
    recipe = recipe_of(Burgers(), width=64, optimizer="lm")
    assert isinstance(recipe.optimizer, optim.LevenbergMarquardt)
