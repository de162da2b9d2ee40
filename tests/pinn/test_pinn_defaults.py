"""Steps stay on the device, and large networks get an optimizer that fits them."""

import equinox as eqx
import jax
import numpy as np
import pytest

import vrba
from tests.pinn.cases import Decay, Edge, tiny_recipe
from vrba import optim
from vrba.pinn import Evaluator, Trainer, default_recipe
from vrba.problems import Formulation

pytestmark = pytest.mark.xdist_group("train")

MATRIX_FREE = optim.LevenbergMarquardt(solver=optim.ConjugateGradients())
POLICY = tiny_recipe().policy


def redraw_and_advance(trainer, state):
    state, _ = trainer.advance(trainer.resample(state), 2)
    return state


@pytest.mark.parametrize(
    ("optimizer", "policy"),
    [
        (optim.Adam(), POLICY),
        (MATRIX_FREE, vrba.adapt.Causal(POLICY)),
        (optim.Adam(), vrba.adapt.TimeWindowWeights(vrba.adapt.Capped(POLICY))),
        (optim.Adam(), vrba.adapt.LocalAverage(POLICY)),
    ],
    ids=["adam", "causal", "windows", "local-average"],
)
def test_no_array_of_a_run_is_read_by_the_host(optimizer, policy):
    """With every array abstract, pools too, reading one would raise an error."""
    recipe = tiny_recipe(optimizer=optimizer, policy=policy)
    trainer = Trainer(Evaluator(Formulation(Edge()), recipe, 0))
    state = trainer.init()
    after = eqx.filter_eval_shape(redraw_and_advance, trainer, state)
    shapes = lambda tree: [np.shape(leaf) for leaf in jax.tree.leaves(tree)]
    assert shapes(after) == shapes(state)


def test_the_host_solver_does_read_arrays():
    recipe = tiny_recipe(optimizer=optim.LevenbergMarquardt(optim.SmallestDamping()))
    trainer = Trainer(Evaluator(Formulation(Decay()), recipe, 0))
    state = trainer.init()
    with pytest.raises(ValueError, match="HostCholesky"):
        eqx.filter_eval_shape(redraw_and_advance, trainer, state)


def num_params(width):
    recipe = tiny_recipe(model=vrba.MLP(width=width))
    return Evaluator(Formulation(Decay()), recipe, 0).num_params


def test_large_networks_get_an_optimizer_without_a_matrix():
    """Two widths on either side of 5,000 parameters."""
    formulation = Formulation(Decay())
    small, large = vrba.MLP(width=39), vrba.MLP(width=40)
    assert num_params(39) <= 5000 < num_params(40)
    recipe = default_recipe(formulation, model=small)
    assert recipe.model == small
    assert isinstance(recipe.optimizer, optim.LevenbergMarquardt)
    recipe = default_recipe(formulation, model=large)
    assert recipe.model == large
    assert isinstance(recipe.optimizer, optim.Adam)
    for optimizer in (optim.Adam(), optim.lbfgs(), optim.QuasiNewton(), None):
        assert default_recipe(formulation, None, optimizer).policy.is_unbiased()
    asked = default_recipe(formulation, None, optim.LevenbergMarquardt(), large)
    assert isinstance(asked.optimizer, optim.LevenbergMarquardt)
