"""Comparisons by `vrba compare` and by `vrba.compare`."""

import dataclasses
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import vrba
from tests.compare.cases import DECAY, TINY, call, residuals, runs_in_this_process
from vrba.compare import ProblemCase, executors, methods_of, text_of
from vrba.core import InputError
from vrba.pinn import Evaluator, Trainer
from vrba.problems import EQUATIONS, Formulation
from vrba.runs import load_header

pytestmark = pytest.mark.xdist_group("compare")  # one folder

RECIPE = vrba.Recipe(
    vrba.MLP(width=4, depth=1), num_points=8, pool_size=32, num_condition_points=8
)
METHODS = ["--policies", "uniform,default:Exponential", "--seeds", "2", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to work in, with a problem; runs are made in this process."""
    path, before = tmp_path_factory.mktemp("compare"), Path.cwd()
    (path / "decay.py").write_text(DECAY)
    with runs_in_this_process():
        os.chdir(path)
        yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def done(folder):
    """Two methods with two seeds each, of three steps."""
    words = ["decay.py", *METHODS, *TINY, "--steps", 3, "--out", "both", "--json"]
    return call("compare", *words)


# A comparison.


def test_comparison_has_every_run(done, folder):
    code, out, err = done
    found = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    runs = {(run["method"], run["seed"]): run for run in found["runs"]}
    assert set(runs) == {
        (method, seed)
        for method in ("uniform", "default:exponential")
        for seed in (3, 4)
    }
    assert {run["step"] for run in runs.values()} == {3}
    assert {run["stop_reason"] for run in runs.values()} == {"steps"}
    assert found["failures"] == {} and found["baseline"] == "uniform"
    written = json.loads(Path("both/comparison.json").read_text())
    assert written == {key: found[key] for key in written}
    assert [one["jax"] for one in written["programs"]] == [jax.__version__]
    assert len(err.splitlines()) == 1 + 4  # the plan, and each run


def test_comparison_without_reference_is_by_residual(done, folder):
    found = json.loads(done[1])
    assert "residual" in found["measure"] and "no reference" in text_of(found)
    for run in found["runs"]:  # the equation is the only term
        assert run["residual"]["selected"] == pytest.approx(run["residual_l2"])
        assert run["residual"]["last"] >= run["residual"]["selected"]
    values = {
        method: [
            r["residual"]["selected"] for r in found["runs"] if r["method"] == method
        ]
        for method in found["methods"]
    }
    for method, spreads in found["methods"].items():
        assert spreads["selected"]["median"] == pytest.approx(np.median(values[method]))
    ratios = sorted(np.divide(values["default:exponential"], values["uniform"]))
    paired = found["against_baseline"]["default:exponential"]
    np.testing.assert_allclose(paired["ratios"], ratios)
    assert "(median of 2 seeds, " in found["sentences"][0]


def test_comparison_writes_table_and_page(done, folder):
    table = Path("both/table.md").read_text()
    assert table.startswith("| method ") and "| default:exponential | 2 " in table
    page = Path("both/report.html").read_text(encoding="utf-8")
    assert '<th scope="row">default:exponential</th><td>2</td>' in page
    assert "No figures: the log is empty." in page  # after three steps
    command = "vrba compare decay.py --policies uniform,default:exponential --seed 3 "
    assert command + "--seeds 2 --points 8" in page


# In Python.


@pytest.fixture(scope="module")
def decay(folder):
    spec = importlib.util.spec_from_file_location("decay", "decay.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "decay", module)
        spec.loader.exec_module(module)
        yield module.Decay()


@pytest.fixture(scope="module")
def recipe(decay, done):
    """The recipe of the command."""
    run = Path("both/default-exponential/seed-3")
    return vrba.Solution.load(run, decay).recipe


@pytest.fixture(scope="module")
def compared(decay, recipe, folder):
    policies = ["uniform", "default:exponential"]
    how = {"seeds": 2, "steps": 3, "first_seed": 3, "recipe": recipe}
    return vrba.compare(decay, policies, out="python", **how)


def test_function_and_command_have_equal_results(done, compared):
    command = json.loads(done[1])
    assert residuals(compared.content) == residuals(command)
    for name in ("methods", "against_baseline", "sentences", "measure"):
        if name == "methods":  # but for the time
            for method, spreads in compared.content[name].items():
                other = command[name][method]
                assert {k: v for k, v in spreads.items() if k != "seconds"} == {
                    k: v for k, v in other.items() if k != "seconds"
                }
        else:
            assert compared.content[name] == command[name]
    assert json.loads(Path("python/comparison.json").read_text()) == compared.content


def test_comparison_shows_itself(compared):
    assert str(compared) == repr(compared) == text_of(compared.content)
    assert compared.table.startswith("| method ") and compared.table in str(compared)
    assert f"- {compared.sentences[0]}\n" in str(compared)
    html = compared._repr_html_()
    assert '<th scope="row">uniform</th>' in html and compared.sentences[0] in html
    page = compared.write_report("page")
    assert page == Path("page/report.html")
    assert compared.sentences[0] in page.read_text()
    assert vrba.write_report(compared) == Path("python/report.html")


def test_comparison_holds_runs_and_solutions(compared):
    run = compared.runs["default:exponential"][4]
    assert run.has_ended and run.step == 3
    solution = compared.solutions["default:exponential"][4]
    assert solution is compared.solutions["default:exponential"][4]
    assert list(compared.solutions["uniform"]) == [3, 4]
    (result,) = [
        one
        for one in compared.content["runs"]
        if (one["method"], one["seed"]) == ("default:exponential", 4)
    ]
    assert solution.result["residual_l2"] == result["residual_l2"]


def test_python_resumes_with_more_seeds(decay, recipe, compared):
    policies = ["uniform", "default:exponential"]
    how = {"steps": 3, "first_seed": 3, "recipe": recipe, "out": "python"}
    kept = Path("python/uniform/seed-3/checkpoint/best.npz").stat().st_mtime_ns
    more = vrba.compare(decay, policies, 3, resume=True, **how)
    assert Path("python/uniform/seed-3/checkpoint/best.npz").stat().st_mtime_ns == kept
    assert list(more.runs["uniform"]) == [3, 4, 5] and not more.is_stopped
    with pytest.raises(InputError, match="less than the 3 of"):
        vrba.compare(decay, policies, 2, resume=True, **how)
    with pytest.raises(InputError, match=r"was started with the methods .*, not"):
        vrba.compare(decay, ["rad"], 3, resume=True, **how)
    with pytest.raises(InputError, match="already holds a comparison"):
        vrba.compare(decay, policies, 3, **how)
    code, _, err = call("compare", "--resume", "python")
    assert code == 2 and "was made in Python" in err


def test_policies_are_names_or_objects(decay, recipe):
    case = ProblemCase(decay, recipe)
    cosh = vrba.Sampling(vrba.adapt.Cosh())
    found = methods_of(case, {"plain": "uniform", "mine": cosh})
    assert list(found) == ["plain", "mine"] and found["mine"].policy == cosh
    assert list(methods_of(case, [cosh, "rba"])) == ["sampling", "rba"]
    assert list(methods_of(case, None)) == ["uniform", "rad", "default"]
    for policies, complaint in (
        ([cosh, vrba.Sampling(vrba.Quadratic())], "two methods `sampling`"),
        ([vrba.Sampling], "has Sampling: give names such as"),
        ({"a/b": cosh}, "without slashes"),
        ([], "`policies` is empty"),
    ):
        with pytest.raises(InputError, match=complaint):
            methods_of(case, policies)


def test_bad_arguments_are_refused(decay, recipe):
    for settings, complaint in (
        ({"seeds": 0}, "`seeds` must be at least 1"),
        ({"minutes": 0}, "`minutes` must be positive"),
        ({"resume": True}, "give `out`"),
    ):
        with pytest.raises(InputError, match=complaint):
            vrba.compare(decay, **settings)


def test_a_failing_run_leaves_the_others(decay, recipe, monkeypatch):
    def run(self, recipe, seed, minutes, task, **options):
        raise RuntimeError("no memory")

    monkeypatch.setattr(ProblemCase, "run", run)
    found = vrba.compare(decay, ["rad"], 1, steps=2, recipe=recipe)
    assert found.content["failures"] == {"rad, seed 0": "RuntimeError: no memory"}
    assert "No run has ended yet" in str(found) and "no memory" in str(found)
    for write in (found.write_report, lambda: vrba.write_report(found)):
        with pytest.raises(InputError, match="temporary folder"):
            write()


def test_ctrl_c_stops_a_comparison_in_python(decay, recipe, monkeypatch):
    def run(self, recipe, seed, minutes, task, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProblemCase, "run", run)
    found = vrba.compare(decay, ["rad"], 2, steps=2, recipe=recipe)
    assert found.is_stopped and found.content["failures"] == {}


# One comparison by the command line.


def test_methods_begin_with_the_same_parameters(done, folder):
    """The checkpoint before the last is the one before the first step."""
    first = {}
    for method in ("uniform", "default-exponential"):
        for seed in (3, 4):
            path = Path("both") / method / f"seed-{seed}" / "checkpoint/previous.npz"
            assert load_header(path)["step"] == 0
            with np.load(path) as file:
                names = [name for name in file.files if ".params" in name]
                assert len(names) == 4
                first[method, seed] = [file[name] for name in names]
    sizes = {leaf.shape for leaf in first["uniform", 3]}
    assert sizes == {(4, 1), (4,), (1, 4), (1,)}  # the network is what was read
    for seed in (3, 4):
        pairs = zip(
            first["uniform", seed], first["default-exponential", seed], strict=True
        )
        assert all(np.array_equal(a, b) for a, b in pairs)
    assert not np.array_equal(first["uniform", 3][0], first["uniform", 4][0])


def test_methods_have_the_same_points_and_settings(folder):
    problem = vrba.problems.Heat()
    case = ProblemCase(problem, RECIPE)
    recipes = methods_of(case, ["uniform", "rad", "default", "rba"])
    trainers = [
        Trainer(Evaluator(Formulation(problem), r, 5)) for r in recipes.values()
    ]
    for one in trainers[1:]:
        same = dataclasses.replace(one.recipe, policy=trainers[0].recipe.policy)
        assert same == trainers[0].recipe
        for name in ("pools", "held_out"):
            points = [getattr(t, name)[EQUATIONS][0] for t in (one, trainers[0])]
            np.testing.assert_array_equal(*points)


def test_resume_makes_what_is_missing(done, folder):
    kept = Path("both/uniform/seed-3/checkpoint/best.npz")
    before = kept.stat().st_mtime_ns
    shutil.rmtree("both/uniform/seed-4")
    code, out, err = call("compare", "--resume", "both", "--json")
    again, first = json.loads(out), json.loads(done[1])
    assert code == 0 and "4 runs, 1 of them to make" in err
    assert kept.stat().st_mtime_ns == before
    key = lambda run: (run["method"], run["seed"], run["residual"])
    assert [key(run) for run in again["runs"]] == [key(run) for run in first["runs"]]
    three = {"median": 3, "lowest": 3, "highest": 3}
    assert [spreads["step"] for spreads in again["methods"].values()] == [three] * 2


def test_only_some_methods_are_made(done, folder):
    """Runs of the others, and their failures, stay as they are."""
    path = Path("both/comparison.json")
    before = json.loads(path.read_text())
    for method in ("uniform", "default-exponential"):
        shutil.rmtree(f"both/{method}/seed-4")
    names = ("uniform, seed 4", "default:exponential, seed 4")
    failed = dict.fromkeys(names, "no memory")
    path.write_text(json.dumps(before | {"failures": failed}))
    words = ["compare", "--resume", "both", "--json"]
    code, out, err = call(*words, "--only", "Uniform")
    assert code == 1 and "4 runs, 1 of them to make" in err
    runs = {(run["method"], run["seed"]) for run in json.loads(out)["runs"]}
    assert runs == {("uniform", 3), ("default:exponential", 3), ("uniform", 4)}
    assert list(json.loads(out)["failures"]) == ["default:exponential, seed 4"]
    code, out, _ = call(*words)
    assert code == 0 and json.loads(out)["failures"] == {}
    assert len(json.loads(out)["runs"]) == 4


def test_resume_refuses_another_problem(done, folder):
    other = folder / "other.py"
    other.write_text(DECAY.replace("u.t + u", "u.t + 2 * u"))
    code, _, err = call("compare", other, "--resume", "both")
    assert code == 2 and "has changed since the comparison in `both` was" in err


BAD_INPUT = [
    ([], "Give a problem to solve: FILE.py, or one of "),
    (["decay.py", "--policies", "uniform,radd"], "Did you mean `rad`? There are: "),
    (["decay.py", "--policies", ","], "policies` is empty"),
    (["decay.py", "--policies", "rad:cosh"], "`rad` takes no potential"),
    (["decay.py", "--policies", "default:cash"], "Did you mean `cosh`?"),
    (["decay.py", "--policies", "default:"], "There is no potential ``"),
    (["decay.py", "--policy", "rad"], "write it into `--policies`"),
    (["decay.py", "--potential", "cosh"], "write it into `--policies`"),
    (["decay.py", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
    (["decay.py", "--jobs", "0"], "`--jobs` must be at least 1, got 0"),
    (["decay.py", "--minutes", "-1"], "`--minutes` must be positive"),
    (["gone.py"], "gone.py: there is no such file"),
    (["decay.py", "--out", "both"], "already holds a comparison"),
    (["--resume", "nowhere"], "`nowhere` is no comparison"),
    (["wave", "--scale", "tiny"], "`--scale` is for data"),
    (["--data", "wave", "--points", "9"], "`--points` is for problems"),
    (["decay.py", "--data", "wave"], "Give a problem or `--data`, not both."),
    (["--resume", "both", "--steps", "9"], "keeps the settings"),
    (["--resume", "both", "--seeds", "1"], "less than the 2 of"),
    (["--resume", "both", "--only", "rad"], "There is no method `rad`"),
]


def test_bad_input_is_refused_at_once(done, folder):
    for words, complaint in BAD_INPUT:
        code, out, err = call("compare", *words)
        assert code == 2 and out == "" and complaint in err, words
        assert err.startswith("vrba: ") and len(err.splitlines()) <= 2, words


def test_folder_of_another_format_is_refused(folder):
    Path("other").mkdir()
    Path("other/comparison.json").write_text('{"format": 2}')
    for words in (["compare", "--resume", "other"], ["report", "other"]):
        code, _, err = call(*words)
        assert code == 2 and "format version None, this vrba reads version 1" in err


# Without processes.


@pytest.fixture
def fake(folder, monkeypatch):
    """The commands, all of which fail."""
    seen = []

    def run(commands, *, on_end, jobs, num_threads, on_wait):
        seen.extend(commands)
        for command in commands:
            command.log.parent.mkdir(parents=True)
            text = "step 1\nvrba: decay.py, line 9: no\n    return u\n"
            command.log.write_text(text)
            on_end(command, 2, False)
        return False

    monkeypatch.setattr(executors, "run_processes", run)
    return seen


def test_failing_runs_are_named(fake, folder):
    words = ["decay.py", "--policies", "rad,rba", "--seeds", 1, *TINY, "--out", "bad"]
    code, out, err = call("compare", *words)
    assert code == 1 and out.startswith("No run has ended yet.")
    assert "- rba, seed 0: decay.py, line 9: no return u\n" in out
    assert "rba, seed 0: failed: decay.py, line 9: no return u" in err
    found = json.loads(Path("bad/comparison.json").read_text())
    assert set(found["failures"]) == {"rad, seed 0", "rba, seed 0"}
    assert found["sentences"] == ["rba: no seed was run both with it and with rad."]
    assert "of at most 1 min" in err  # neither minutes nor steps were given
    assert fake[0].words[:4] == ("solve", "decay.py", "--policy", "rad")
    assert "--minutes" in fake[0].words


@pytest.mark.parametrize("only", [[], ["--only", "rad"]])
def test_stopped_comparison_names_the_command_that_resumes_it(
    folder, monkeypatch, only
):
    monkeypatch.setattr(executors, "run_processes", lambda *_, **__: True)
    out = f"stopped-{len(only)}"
    words = ["decay.py", "--policies", "rad,rba", *TINY, "--out", out, *only]
    code, _, err = call("compare", *words)
    again = " ".join(["vrba compare --resume", out, *only])
    assert code == 130 and f"Resume with: {again}\n" in err
    assert "of them to make" in err if only else "of them" not in err
