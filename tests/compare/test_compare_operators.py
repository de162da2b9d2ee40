"""Comparisons on data for operators."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

import vrba
from tests.compare.cases import call, runs_in_this_process
from vrba.compare import DataCase, methods_of
from vrba.data import Bubble, open_pairs, write_pairs

pytestmark = pytest.mark.xdist_group("compare operators")  # one folder

QUICK = ["--steps", 6, "--batch", 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to work in, with data; runs are made in this process."""
    path, before = tmp_path_factory.mktemp("operators"), Path.cwd()
    write_pairs(Bubble(**Bubble.scales["tiny"]), path / "pairs.h5")
    with runs_in_this_process():
        os.chdir(path)
        yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def compared(folder):
    words = ["--data", "pairs.h5", "--policies", "uniform,Exponential", "--seeds", 1]
    return call("compare", *words, *QUICK, "--out", "both", "--json")


def test_every_method_trains(compared, folder):
    code, out, err = compared
    found = json.loads(out.splitlines()[-1])
    assert code == 0, err
    assert set(found["methods"]) == {"uniform", "exponential"}
    assert len(found["runs"]) == 2 and found["settings"]["command"] == "train"
    for run in found["runs"]:
        path = Path("both") / run["method"] / f"seed-{run['seed']}"
        operator = vrba.Operator.load(path)
        assert run["error"]["selected"] == operator.result["errors"]["selected"]
        assert operator.result["step"] == 6
    assert "exponential" in found["sentences"][0]
    assert "validation set" in Path("both/table.md").read_text()
    page = Path("both/report.html").read_text()
    assert "vrba compare --data pairs.h5 --policies uniform,exponential" in page


def test_comparison_can_be_resumed(compared, folder):
    before = Path("both/uniform/seed-0/checkpoint/best.npz").stat().st_mtime_ns
    code, _, err = call("compare", "--resume", "both")
    assert code == 0 and "0 of them to make" in err
    after = Path("both/uniform/seed-0/checkpoint/best.npz").stat().st_mtime_ns
    assert after == before


def test_methods_differ_as_they_say(folder):
    pairs = open_pairs("pairs.h5")
    recipes = methods_of(DataCase(pairs, vrba.default_operator_recipe(pairs)), None)
    fair, published = recipes["uniform"], recipes["uniform-as-published"]
    assert published.optimizer.l2 == 1e-4 and fair.optimizer.l2 == 0
    assert fair.batches.shuffles and not published.batches.shuffles
    potentials = [recipes[k].policy.potential for k in ("quadratic", "exponential")]
    assert potentials == [vrba.Quadratic(), vrba.Exponential()]
    for recipe in recipes.values():
        own = {"policy": fair.policy, "batches": fair.batches}
        if recipe is published:
            own["optimizer"] = dataclasses.replace(recipe.optimizer, l2=0.0)
        assert dataclasses.replace(recipe, **own) == fair


def test_a_policy_object_is_a_method(folder):
    pairs = open_pairs("pairs.h5")
    recipe = vrba.default_operator_recipe(pairs)
    hybrid = vrba.Hybrid(vrba.Cosh())
    found = methods_of(DataCase(pairs, recipe), {"mine": hybrid, "fair": "uniform"})
    assert found["mine"].policy == hybrid


def test_data_of_one_shape_differ_by_their_numbers():
    zeros, axis = np.zeros((12, 8, 1)), np.linspace(0, 1, 8)
    first = vrba.data.Pairs(zeros, zeros, ("x",), (axis,), None, 8, 2, 2)
    second = dataclasses.replace(first, outputs=first.outputs + 1)
    recipe = vrba.default_operator_recipe(first)
    one, other = (DataCase(p, recipe, "a.h5").describe() for p in (first, second))
    assert one["shapes"] == other["shapes"] and not DataCase.is_same(one, other)


BAD_INPUT = {
    "`--points` is for problems": ["--data", "pairs.h5", "--points", 3],
    "`--diagnose` is for problems": ["--data", "pairs.h5", "--diagnose", 0.5],
    "`--batch` must divide the 20": ["--data", "pairs.h5", "--batch", 3],
    "`--batch` is for data": ["burgers", "--batch", 3],
    "There is no file `none.h5`": ["--data", "none.h5"],
    "There is no problem `bubble`": ["bubble"],
    "of an operator must be one of uniform": [
        *("--data", "pairs.h5", "--policies", "default:cosh")
    ],
}


def test_bad_input_is_refused(folder):
    for message, words in BAD_INPUT.items():
        code, _, err = call("compare", *words)
        assert code == 2 and message in " ".join(err.split()), (message, err)


def test_a_name_of_both_kinds_is_a_problem_unless_given_as_data(folder):
    words = ["--policies", "nothing", "--seeds", 1]
    assert "vrba-weighting" in call("compare", "wave", *words)[2]  # for points
    words += ["--scale", "tiny"]
    assert "uniform-as-published" in call("compare", "--data", "wave", *words)[2]
