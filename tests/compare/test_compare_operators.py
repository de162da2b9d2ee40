"""Comparisons of policies for operators."""

import numpy as np
import pytest

import vrba
from vrba.compare import DataCase
from vrba.core import InputError


def make_pairs(num_funcs=12, num_points=8):
    """Sums of sines and their integrals from zero."""
    x, waves = np.linspace(0, 1, num_points), np.arange(1, 4) * np.pi
    sizes = np.random.default_rng(0).normal(size=(num_funcs, 3))
    inputs = sizes @ np.sin(waves[:, None] * x)
    outputs = sizes @ ((1 - np.cos(waves[:, None] * x)) / waves[:, None])
    counts = (num_funcs - 4, 2, 2)
    return vrba.data.Pairs(
        inputs[..., None], outputs[..., None], ("x",), (x,), None, *counts
    )


def test_operators_are_compared_in_python():
    pairs = make_pairs()
    small = vrba.MLP(8, 1)
    model = vrba.DeepONet(branch=small, trunk=small, latent=4)
    recipe = vrba.operators.default_operator_recipe(pairs, 2, model)
    found = vrba.compare(pairs, ["uniform", "quadratic"], 1, recipe=recipe)
    assert list(found.runs) == ["uniform", "quadratic"]
    assert found.content["measure"].startswith("relative L2 error on the test set")
    assert found.solutions["quadratic"][0].result["step"] == 2


def test_the_recipe_is_of_an_operator():
    with pytest.raises(InputError, match="must be of type OperatorRecipe, got Recipe"):
        vrba.compare(make_pairs(), recipe=vrba.Recipe())


def test_policies_of_operators_have_weights_of_points():
    pairs = make_pairs()
    recipe = vrba.operators.default_operator_recipe(pairs, 2)
    case = DataCase(pairs, recipe)
    name, found = case.method(vrba.adapt.Hybrid(vrba.Quadratic()))
    assert name == "hybrid"
    assert found.policy.potential == vrba.Quadratic()
    with pytest.raises(InputError, match="has Sampling, which has no weights for"):
        case.method(vrba.Sampling(vrba.Quadratic()))
