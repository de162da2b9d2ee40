"""`vrba train`, and `vrba compare` for operators."""

import dataclasses
import json
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import vrba
from tests.cli.cases import call
from tests.compare.cases import processes_share_cache
from vrba.cli.recipe import OperatorFlags, new_operator_recipe
from vrba.compare import DataCase, methods_of
from vrba.data import Bubble, Kolmogorov, Wave, open_pairs, write_pairs
from vrba.runs import SOLVE, RunFolder

pytestmark = pytest.mark.xdist_group("cli operators")  # one folder

QUICK = ["--steps", 6, "--batch", 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to work in, with data."""
    path, before = tmp_path_factory.mktemp("operators"), Path.cwd()
    write_pairs(Bubble(**Bubble.scales["tiny"]), path / "pairs.h5")
    RunFolder(path / "solved").write_manifest({"kind": SOLVE})
    os.chdir(path)
    yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def done(folder):
    return call("train", "pairs.h5", *QUICK, "--seed", 3, "--json", "--out", "one")


def test_train_leaves_a_folder_that_can_be_loaded(done, folder):
    code, out, err = done
    told = json.loads(out.splitlines()[-1])
    assert code == 0 and "batches of 5 of 20 samples" in err
    assert told["step"] == 6 and told["run"] == "one" and told["seed"] == 3
    pairs = open_pairs("pairs.h5")
    operator = vrba.Operator.load("one")
    errors = operator.errors(pairs)
    assert told["errors"]["selected"] == pytest.approx(np.mean(errors), rel=1e-6)
    assert told["errors"]["p95"] == pytest.approx(np.percentile(errors, 95), rel=1e-6)
    last = operator.errors(pairs, params=operator.last_params)
    assert told["errors"]["last"] == pytest.approx(np.mean(last), rel=1e-6)
    known = operator.errors(pairs, "train")[: len(errors)]
    assert len(errors) < pairs.num_train
    assert told["errors"]["train"] == pytest.approx(np.mean(known), rel=1e-6)
    assert told["weights_bytes"] >= 4 * 20 * 50  # a number for each point
    page = Path("one/report.html").read_text()
    assert "vrba train pairs.h5" in page and "--out" not in page


def test_fields_are_those_of_the_test_set(done, folder):
    pairs, operator = open_pairs("pairs.h5"), vrba.Operator.load("one")
    with np.load("one/fields.npz") as fields:
        inputs, truth = pairs.load("test")
        found = operator(inputs)
        std, mean = (float(f(pairs.load("train")[1])) for f in (np.std, np.mean))
        miss = (found - truth)[..., 0] / std
        size = np.sqrt(np.mean(((truth - mean)[..., 0] / std) ** 2, axis=1))
        errors = np.sqrt(np.mean(miss**2, axis=1)) / size
        np.testing.assert_allclose(fields["errors"], errors, rtol=1e-3)
        assert fields["example ids"][0] == np.argmax(errors)
        np.testing.assert_array_equal(
            fields["example truth"], truth[fields["example ids"]]
        )
        over_time = np.abs(miss) / size[:, None]
        np.testing.assert_allclose(
            fields["errors over time"][:, 0], over_time.mean(axis=0), rtol=1e-3
        )
        np.testing.assert_allclose(
            fields["errors over time"][:, 3], over_time.max(axis=0), rtol=1e-3
        )
        assert fields["mass"].mean() == pytest.approx(1)
        assert fields["mean weight"].mean() == pytest.approx(1, rel=1e-5)
        assert [str(name) for name in fields["coordinates"]] == ["t"]


def test_train_goes_on_as_if_never_stopped(done, folder):
    """Stopped in the middle of an epoch of four steps, after which it is drawn."""
    words = ["train", "pairs.h5", *QUICK, "--seed", 3]
    stop = Stopping(3)
    with pytest.MonkeyPatch.context() as patch:
        name = "vrba.cli.train.progress"
        patch.setattr(name, lambda *_, **__: nullcontext(stop))
        patch.setattr("vrba.cli.train.write_page", lambda *_, **__: None)
        assert call(*words, "--out", "broken")[0] == 130
        patch.undo()
        patch.setattr("vrba.cli.train.write_page", lambda *_, **__: None)
        assert vrba.Operator.load("broken").result["step"] == 3
        assert call("train", "--resume", "broken")[0] == 0
    load = lambda run: np.load(Path(run) / "checkpoint" / "latest.npz")
    first, second = load("one"), load("broken")
    leaves = [key for key in first if key != "header"]
    assert len(leaves) > 10
    for key in leaves:
        np.testing.assert_array_equal(first[key], second[key])


class Stopping(vrba.runs.AbstractCallback):
    """Ctrl-C at a step."""

    def __init__(self, step):
        self.step = step

    def on_start(self, plan):
        pass

    def on_check(self, entry, seconds_left):
        if entry["step"] == self.step:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, sentence):
        pass


def test_methods_differ_in_their_policy_only():
    pairs = made(Bubble)
    recipe = new_operator_recipe(OperatorFlags(), pairs)
    recipes = methods_of(DataCase(pairs, recipe), None)
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


def made(kind, **settings):
    """Pairs of the right shapes, of zeros."""
    maker = kind(**(kind.scales["tiny"] | settings))
    grid = tuple(map(len, maker.axes()))
    in_grid = tuple(n for n, name in zip(grid, maker.names, strict=True) if name != "t")
    in_grid = in_grid or (maker.num_sensors,)
    return vrba.data.Pairs(
        np.zeros((maker.num_funcs, *in_grid, 1)),
        np.zeros((maker.num_funcs, *grid, 1)),
        maker.names,
        maker.axes(),
        None,
        maker.num_train,
        maker.num_valid,
        maker.num_test,
        provenance={"settings": {"class": kind.__name__}},
    )


@pytest.mark.parametrize("kind", [Bubble, Kolmogorov, Wave])
def test_every_data_set_has_a_recipe_that_fits(kind):
    recipe = new_operator_recipe(OperatorFlags(steps=7), made(kind))
    assert recipe.optimizer.schedule == vrba.optim.Cosine(7) and recipe.max_steps == 7
    assert (recipe.split_axis == "t") == (kind is Wave)
    vrba.operators.OperatorTrainer(made(kind), recipe, 0)


def test_the_published_networks_are_taken_at_the_published_scale():
    """Their sizes are those of tests/test_models_operators.py."""
    model = lambda kind: (
        vrba.operators.default_operator_recipe(made(kind, num_train=800)).model
    )
    assert model(Bubble) == vrba.DeepONet()
    assert model(Kolmogorov) == vrba.FNO(kernel=vrba.models.TuckerKernel(rank=1.0))
    wave = dataclasses.replace(model(Wave), fastest=32.0)  # as fast as times allow
    assert wave == vrba.models.TimeConditionedUNet(time_axis=0)


KEPT = {"point": 1, "time": 16 * 16, "coarse": 4 * 4, "half": 2}


@pytest.mark.parametrize("kept", KEPT)
def test_fewer_weights_take_less_memory(kept):
    """Of 16 x 16 points at 5 times: 4 divides the points, nothing the times."""
    pairs = made(Kolmogorov)
    recipe = new_operator_recipe(OperatorFlags(steps=7, weights=kept), pairs)
    state = recipe.policy.init((4, 16, 16, 5), dtype="float32")
    targets = 4 * 4 * 16 * 16 * 5
    assert recipe.policy.weights_bytes(state) == targets // KEPT[kept]


def test_weights_of_samples_at_one_time():
    pairs = made(Wave)
    flags = OperatorFlags(steps=7, weights="time")
    assert new_operator_recipe(flags, pairs).policy.cells == (16, 16)


def test_data_of_ones_own_get_a_network_that_fits():
    zeros, axis = np.zeros((20, 12, 1)), np.linspace(0, 1, 12)
    on_grid = vrba.data.Pairs(zeros, zeros, ("x",), (axis,), None, 16, 2, 2)
    uneven = vrba.data.Pairs(zeros, zeros, ("x",), (axis**2,), None, 16, 2, 2)
    assert isinstance(vrba.operators.default_operator_recipe(on_grid).model, vrba.FNO)
    assert isinstance(
        vrba.operators.default_operator_recipe(uneven).model, vrba.DeepONet
    )


def test_data_of_one_shape_are_told_apart_by_their_numbers():
    first = made(Bubble)
    second = dataclasses.replace(first, outputs=first.outputs + 1)
    recipe = new_operator_recipe(OperatorFlags(), first)
    words = [DataCase(p, recipe, "a.h5").describe() for p in (first, second)]
    assert words[0]["shapes"] == words[1]["shapes"] and words[0] != words[1]


@pytest.mark.parametrize("name", ["deeponet", "fno", "time-conditioned-unet"])
def test_any_model_can_be_asked_for_if_it_fits(name):
    """With a batch and an axis of time that suit it, not those of another model."""
    pairs = made(Wave) if name == "time-conditioned-unet" else made(Kolmogorov)
    recipe = new_operator_recipe(OperatorFlags(steps=7, model=name), pairs)
    assert (recipe.split_axis == "t") == (name == "time-conditioned-unet")
    vrba.operators.OperatorTrainer(pairs, recipe, 0)


@pytest.fixture(scope="module")
def compared(folder):
    words = ["--data", "pairs.h5", "--policies", "uniform,Exponential", "--seeds", 1]
    with processes_share_cache(os.environ["JAX_COMPILATION_CACHE_DIR"]):
        return call("compare", *words, *QUICK, "--out", "both", "--json")


@pytest.mark.slow
def test_compare_trains_every_method(compared, folder):
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
    assert Path("both/report.html").exists()


@pytest.mark.slow
def test_compare_of_operators_can_be_resumed(compared, folder):
    before = Path("both/uniform/seed-0/checkpoint/best.npz").stat().st_mtime_ns
    code, _, err = call("compare", "--resume", "both")
    assert code == 0 and "0 of them to make" in err
    after = Path("both/uniform/seed-0/checkpoint/best.npz").stat().st_mtime_ns
    assert after == before


MISTAKES = {
    "Give training data": ["train"],
    "There is no data `bubbel`. Did you mean `bubble`?": ["train", "bubbel"],
    "There is no model `fnoo`": ["train", "pairs.h5", "--model", "fnoo"],
    "There is no policy `rad`": ["train", "pairs.h5", "--policy", "rad"],
    "`--scale tiny` applies to generated data only": [
        "train",
        "pairs.h5",
        "--scale",
        "tiny",
    ],
    "`--batch` is 21, more than the 20": ["train", "pairs.h5", "--batch", 21],
    "There is no kind of weights `all`": ["train", "pairs.h5", "--weights", "all"],
    "`--minutes` must be positive": ["train", "pairs.h5", "--minutes", 0],
    "`one` already holds a run": ["train", "pairs.h5", "--out", "one"],
    "`--batch` cannot be changed": ["train", "--resume", "one", "--batch", 3],
    "`--resample-every` cannot be changed": [
        "train",
        "--resume",
        "one",
        "--resample-every",
        3,
    ],
    "`--points` is for problems": ["compare", "--data", "pairs.h5", "--points", 3],
    "`--batch` is for data": ["compare", "burgers", "--batch", 3],
    "of an operator must be one of uniform": [
        "compare",
        "--data",
        "pairs.h5",
        "--policies",
        "default:cosh",
    ],
    "`--steps` is 9, but the learning rate is zero from step 6": [
        "train",
        "--resume",
        "one",
        "--steps",
        9,
    ],
    "`--scale tiny` needs the name": ["train", "--resume", "one", "--scale", "tiny"],
    "which has no weights of points": [
        "train",
        "pairs.h5",
        "--policy",
        "uniform",
        "--weights",
        "half",
    ],
    "`--diagnose` is for problems": [
        "compare",
        "--data",
        "pairs.h5",
        "--diagnose",
        0.5,
    ],
    "`--batch` must divide the 20 samples": [
        "compare",
        "--data",
        "pairs.h5",
        "--batch",
        3,
    ],
    "There is no file `none.h5`": ["train", "none.h5"],
    "use `vrba train`": ["solve", "bubble"],
    "`TimeConditionedUNet` needs functions on a grid of two axes": [
        "train",
        "pairs.h5",
        "--model",
        "time-conditioned-unet",
    ],
    "is no run folder": ["train", "--resume", "nowhere"],
    "or resume it with `vrba train --resume one`": ["solve", "--resume", "one"],
    "`one` is a run of `vrba train`": ["solve", "burgers", "--init-from", "one"],
    "or resume it with `vrba solve --resume solved`": ["train", "--resume", "solved"],
}


def test_bad_input_is_refused_at_once(done, folder):
    for message, words in MISTAKES.items():
        code, _, err = call(*words)
        assert code == 2 and message in " ".join(err.split()), words


def test_a_name_of_both_kinds_means_data_with_the_flag_only(folder):
    words = ["--policies", "nothing", "--seeds", 1]
    problem = call("compare", "wave", *words)[2]
    assert "vrba-weighting" in problem  # one of the policies for points
    data = call("compare", "--data", "wave", "--scale", "tiny", *words)[2]
    assert "uniform-as-published" in data


def test_a_loss_is_chosen_by_name():
    flags = OperatorFlags(steps=7, loss="Relative")
    assert new_operator_recipe(flags, made(Bubble)).loss == vrba.operators.Relative()
    with pytest.raises(ValueError, match="There is no loss `relativ`. Did you mean"):
        new_operator_recipe(OperatorFlags(loss="relativ"), made(Bubble))
