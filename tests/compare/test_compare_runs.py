"""Comparisons by `vrba compare` and by `vrba.compare`."""

import dataclasses
import io
import json
import math
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from rich.console import Console
from vrba.cli.target import load_problem
from vrba.train import Trainer
from vrba.train.loop import watch_signals

import vrba
from tests.compare.cases import call, processes_share_cache, runs_in_this_process
from vrba.cli.recipe import RecipeFlags, new_recipe
from vrba.compare import (
    ComparisonFolder,
    ProblemCase,
    Settings,
    as_json,
    budget,
    executors,
    failure_message,
    methods_of,
    text_of,
)
from vrba.compare.executors import Command, Progress, run_processes
from vrba.compare.folder import version_warnings
from vrba.compare.tables import summarise
from vrba.core import InputError, append_line
from vrba.problems import EQUATIONS, Formulation
from vrba.report import Board

pytestmark = pytest.mark.xdist_group("compare")  # one folder

DECAY = """
import vrba


class Decay(vrba.Problem):
    domain = vrba.Box(t=(0, 1))

    def equations(self, u, t):
        return {"decay": u.t + u}

    def conditions(self):
        return [vrba.Ansatz(lambda t, N: 1 + t * N)]
"""
RECIPE = vrba.Recipe(
    vrba.MLP(width=4, depth=1), num_points=8, pool_size=32, num_condition_points=8
)
TINY = ["--points", "8", "--pool", "32", "--width", "4", "--depth", "1"]
ARMS = ["--policies", "uniform,default:Exponential", "--seeds", "2", "--seed", "3"]


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
    """Two arms with two seeds each, of three steps."""
    words = ["decay.py", *ARMS, *TINY, "--steps", 3, "--out", "both", "--json"]
    return call("compare", *words)


# A comparison.


def test_comparison_has_every_run(done, folder):
    code, out, err = done
    found = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    runs = {(run["method"], run["seed"]): run for run in found["runs"]}
    assert set(runs) == {
        (arm, seed) for arm in ("uniform", "default:exponential") for seed in (3, 4)
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
    by_arm = {
        arm: [r["residual"]["selected"] for r in found["runs"] if r["method"] == arm]
        for arm in found["methods"]
    }
    for arm, values in by_arm.items():
        assert found["methods"][arm]["selected"]["median"] == pytest.approx(
            np.median(values)
        )
    ratios = sorted(np.divide(by_arm["default:exponential"], by_arm["uniform"]))
    paired = found["against_baseline"]["default:exponential"]
    np.testing.assert_allclose(paired["ratios"], ratios)
    assert "(median of 2 seeds, " in found["sentences"][0]


def test_comparison_writes_table_and_page(done, folder):
    table = Path("both/table.md").read_text()
    assert table.startswith("| method ") and "| default:exponential | 2 " in table
    page = Path("both/report.html").read_text(encoding="utf-8")
    assert '<th scope="row">default:exponential</th><td>2</td>' in page
    assert "Nothing was logged yet that could be drawn." in page  # in three steps
    command = "vrba compare decay.py --policies uniform,default:exponential --seed 3 "
    assert command + "--seeds 2 --points 8" in page


@pytest.mark.slow
def test_processes_make_the_same_runs(done, folder):
    """Bit for bit, and every run has a page."""
    words = ["decay.py", *ARMS, *TINY, "--steps", 3, "--out", "processes", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "run_processes", run_processes)
        with processes_share_cache(folder / "compiled"):
            code, out, err = call("compare", *words)
    assert code == 0, err
    assert residuals(json.loads(out)) == residuals(json.loads(done[1]))
    page = Path("processes/report.html").read_text(encoding="utf-8")
    assert 'href="default-exponential/seed-3/report.html"' in page


def residuals(content):
    return [(run["method"], run["seed"], run["residual"]) for run in content["runs"]]


# In Python.


@pytest.fixture(scope="module")
def decay(folder):
    return load_problem("decay.py", ())


@pytest.fixture(scope="module")
def recipe(decay):
    """As `vrba compare` makes it of the flags `TINY`."""
    return new_recipe(
        RecipeFlags(points=8, pool=32, width=4, depth=1), decay, None, None
    )


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
    assert (
        page == Path("page/report.html") and compared.sentences[0] in page.read_text()
    )


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
    with pytest.raises(InputError, match=r"was begun with the methods .*, not"):
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
    with pytest.raises(
        InputError, match="`recipe` must be of type OperatorRecipe, got Re"
    ):
        vrba.compare(make_pairs(), recipe=recipe)


def test_a_failing_run_leaves_the_others(decay, recipe, monkeypatch):
    def run(self, recipe, seed, minutes, task, **options):
        raise RuntimeError("no memory")

    monkeypatch.setattr(ProblemCase, "run", run)
    found = vrba.compare(decay, ["rad"], 1, steps=2, recipe=recipe)
    assert found.content["failures"] == {"rad, seed 0": "RuntimeError: no memory"}
    assert "No run has ended yet" in str(found) and "no memory" in str(found)
    with pytest.raises(InputError, match="temporary folder"):
        found.write_report()


def test_ctrl_c_stops_a_comparison_in_python(decay, recipe, monkeypatch):
    def run(self, recipe, seed, minutes, task, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProblemCase, "run", run)
    found = vrba.compare(decay, ["rad"], 2, steps=2, recipe=recipe)
    assert found.is_stopped and found.content["failures"] == {}


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


def test_operators_are_compared_in_python(folder):
    pairs = make_pairs()
    small = vrba.MLP(8, 1)
    model = vrba.DeepONet(branch=small, trunk=small, latent=4)
    recipe = vrba.operators.default_operator_recipe(pairs, 2, model)
    found = vrba.compare(pairs, ["uniform", "quadratic"], 1, recipe=recipe)
    assert list(found.runs) == ["uniform", "quadratic"]
    assert found.content["measure"].startswith("relative L2 error on the test set")
    assert found.solutions["quadratic"][0].result["step"] == 2


# One comparison by the command line.


def test_arms_begin_with_the_same_parameters(done, folder):
    """The checkpoint before the last is the one before the first step."""
    first = {}
    for arm in ("uniform", "default-exponential"):
        for seed in (3, 4):
            path = Path("both") / arm / f"seed-{seed}" / "checkpoint/previous.npz"
            with np.load(path) as file:
                assert json.loads(str(file["header"]))["step"] == 0
                first[arm, seed] = [file[f"leaf_{k}"] for k in range(4)]
    sizes = {leaf.shape for leaf in first["uniform", 3]}
    assert sizes == {(4, 1), (4,), (1, 4), (1,)}  # the network is what was read
    for seed in (3, 4):
        pairs = zip(
            first["uniform", seed], first["default-exponential", seed], strict=True
        )
        assert all(np.array_equal(a, b) for a, b in pairs)
    assert not np.array_equal(first["uniform", 3][0], first["uniform", 4][0])


def test_arms_have_the_same_points_and_settings(folder):
    problem = vrba.problems.Heat()
    case = ProblemCase(problem, RECIPE)
    recipes = methods_of(case, ["uniform", "rad", "default", "rba"])
    trainers = [Trainer(Formulation(problem), r, 5) for r in recipes.values()]
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
    assert [arm["step"] for arm in again["methods"].values()] == [three] * 2


def test_only_some_arms_are_made(done, folder):
    """Runs of the others, and their failures, stay as they are."""
    path = Path("both/comparison.json")
    before = json.loads(path.read_text())
    for arm in ("uniform", "default-exponential"):
        shutil.rmtree(f"both/{arm}/seed-4")
    failed = {
        f"{arm}, seed 4": "no memory" for arm in ("uniform", "default:exponential")
    }
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
    (["decay.py", "--policies", ","], "`--policies` is empty"),
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
    (["decay.py", "--data", "wave"], "Give a problem to solve"),
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
    """Commands that fail, and are remembered."""
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


def test_terminal_shows_the_progress_of_runs(folder):
    settings = Settings("solve", "decay.py", (), ("rad", "rba"), 0, 1, {}, 1)
    progress = Progress(ComparisonFolder(folder / "seen"), settings)
    stream = io.StringIO()
    progress.board = Board(Console(file=stream, force_terminal=True, width=80))
    first, second = progress.missing_tasks(settings.methods)
    entry = {"step": 15, "residual_l2": 1e-3, "seconds": 7.0}
    first.folder.mkdir(parents=True)
    append_line(first.folder / "metrics.jsonl", entry)
    progress.on_end(second, "", True)
    progress.on_wait([first])
    progress.board.close()
    assert "rba, seed 0: stopped" in stream.getvalue() and not progress.failures
    assert "1 of 2 runs ended" in stream.getvalue()
    assert "step 15  residual 1.00e-03" in stream.getvalue()


def test_settings_reach_every_run(folder):
    flags = {"optimizer": "lbfgs", "points": 9, "minutes": 0.5}
    settings = Settings(
        "solve", "a.py", ("k=1",), ("uniform", "default:cosh"), 7, 2, flags, 1
    )
    words = settings.words("default:cosh", 8, Path("x"))
    text = "solve a.py --param k=1 --policy default --potential cosh --optimizer lbfgs "
    assert " ".join(words) == text + "--points 9 --minutes 0.5 --seed 8 --out x"
    again = (
        "solve a.py --param k=1 --policy default --potential cosh --optimizer lbfgs "
    )
    words = settings.words_to_resume("default:cosh", Path("x"))
    assert " ".join(words) == again + "--resume x"
    assert settings.runs() == [
        ("uniform", 7),
        ("default:cosh", 7),
        ("default:cosh", 8),
        ("uniform", 8),
    ]


def test_reference_bounds_what_can_be_told_apart():
    def run(arm, seed, error):
        errors = {"selected": error, "last": 1e-2, "of_reference": 1e-5}
        plain = {"residual_l2": 1.0, "step": 1, "seconds": 1.0}
        plain["stop_reason"] = "steps"
        return {"method": arm, "seed": seed, "error": errors} | plain

    settings = Settings("solve", "burgers", (), ("rad", "uniform"), 0, 2, {}, 1)
    runs = [run("rad", 0, 1e-7), run("rad", 1, 1e-3)]
    runs += [run("uniform", 0, 1e-6), run("uniform", 1, 1e-3)]
    found = summarise(settings.methods, settings.baseline, runs)
    assert found["baseline"] == "uniform" and found["floor"] == pytest.approx(3e-5)
    assert found["against_baseline"]["rad"]["ratios"] == (1.0, 1.0)
    assert (
        any("<3.0e-5" in cell for cell in found["rows"][1])
        and found["measure"] == "relative L2 error"
    )


@pytest.mark.parametrize(
    ("steps", "is_told"), [((10, 12), False), ((2, 12), True), ((0, 0), True)]
)
def test_times_that_were_not_equal_are_told(steps, is_told):
    run = {"method": "rad", "error": None, "seconds": 1.0, "residual_l2": 1.0}
    run |= {"residual": {"selected": 1.0, "last": 1.0}, "stop_reason": "time"}
    runs = [run | {"seed": seed, "step": step} for seed, step in enumerate(steps)]
    settings = Settings("solve", "burgers", (), ("rad",), 0, 2, {"minutes": 1.0}, 1)
    found = summarise(settings.methods, settings.baseline, runs)
    assert bool(found["warnings"]) == is_told
    told = text_of(found | {"settings": dataclasses.asdict(settings)})
    assert ("`--steps`" in told) == is_told
    ended = [one | {"stop_reason": "no_descent"} for one in runs]
    assert summarise(settings.methods, settings.baseline, ended)["warnings"] == []


def test_runs_of_several_versions_are_told():
    one, other = {"vrba": "1", "jax": "1"}, {"vrba": "1", "jax": "2"}
    assert version_warnings([]) == version_warnings([one]) == []
    assert version_warnings([one, other])[0].startswith("2 versions of the program")


def test_a_comparison_with_a_lost_arm_can_be_written():
    """A ratio that is infinite becomes null, and nothing is lost."""
    run = {"error": None, "seconds": 1.0, "residual_l2": 1.0, "step": 3, "seed": 0}
    run["stop_reason"] = "time"
    sizes = {"uniform": 0.0, "rad": math.inf}
    runs = [
        run | {"method": arm, "residual": {"selected": size, "last": size}}
        for arm, size in sizes.items()
    ]
    settings = Settings(
        "solve", "burgers", (), ("uniform", "rad"), 0, 1, {"steps": 3}, 1
    )
    found = json.loads(as_json(summarise(settings.methods, settings.baseline, runs)))
    assert found["against_baseline"]["rad"]["median"] is None


def test_share_of_the_machine(monkeypatch):
    monkeypatch.setattr(budget, "num_cores", lambda: 8)
    monkeypatch.setattr(budget, "free_bytes", lambda: 10e9)
    assert budget.choose_jobs(20, 1e9) == 8 and budget.choose_jobs(3, 1e9) == 3
    assert budget.choose_jobs(20, 2e9) == 4 and budget.choose_jobs(20, 90e9) == 1
    assert [budget.share_of_cores(jobs) for jobs in (1, 3, 8, 20)] == [8, 2, 1, 1]
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "old")
    found = budget.environment(2)
    assert found["OMP_NUM_THREADS"] == found["NPROC"] == "2"
    assert "JAX_COMPILATION_CACHE_DIR" not in found and "PATH" in found


def test_memory_is_that_of_the_state_and_of_the_solver():
    """Matrices of second order are counted where they are: in the state of a
    quasi-Newton method, in the solver of Levenberg-Marquardt, also in a sequence."""
    optim, problem = vrba.optim, vrba.problems.Heat()
    wide = dataclasses.replace(RECIPE, model=vrba.MLP(width=16, depth=2))
    num_params = Trainer(Formulation(problem), wide, 0).num_params
    size = 8 * num_params**2

    def needed(optimizer):
        recipe = dataclasses.replace(wide, optimizer=optimizer)
        return budget.problem_bytes(problem, recipe)

    adam = needed(optim.Adam())
    cholesky = optim.LevenbergMarquardt(solver=optim.Cholesky())
    free = optim.LevenbergMarquardt(solver=optim.ConjugateGradients())
    assert needed(optim.QuasiNewton()) - adam > 3 * size
    assert needed(cholesky) - needed(free) == cholesky.solver.num_matrices * size
    first = optim.Stage(optim.Adam(), optim.AfterSteps(3))
    assert needed(optim.Sequence(first, cholesky)) >= needed(cholesky)
    assert abs(needed(free) - adam) < size


def test_free_memory_is_less_than_all():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < budget.free_bytes() < total


# Processes.

SLEEP = "import signal, sys, time\n"
SLEEP += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))\n"
SLEEP += "print('ready', flush=True)\ntime.sleep(60)"


@pytest.fixture
def scripts(monkeypatch):
    """Tasks are Python programs; whoever is at work is seen."""
    start = executors.subprocess.Popen

    def popen(command, **options):
        return start([sys.executable, "-c", *command[4:]], **options)

    monkeypatch.setattr(executors.subprocess, "Popen", popen)


def test_tasks_run_so_many_at_a_time(scripts, tmp_path):
    ended, most = [], []
    texts = [
        "import sys; sys.exit(3)",
        "import os; os.kill(os.getpid(), 9)",
        "print(1)",
    ]
    tasks = [
        Command(str(k), (text,), tmp_path / f"{k}") for k, text in enumerate(texts)
    ]
    is_stopped = run_processes(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda task, code, _: ended.append((task.name, code)),
        on_wait=lambda running: most.append(len(running)),
    )
    assert not is_stopped and max(most) <= 2
    assert sorted(ended) == [("0", 3), ("1", -9), ("2", 0)]
    assert failure_message(tasks[0].log, 3) == "exit code 3"
    assert "SIGKILL" in failure_message(tasks[1].log, -9)
    assert failure_message(tasks[2].log, 0) == "1"


def test_signal_stops_all_tasks(scripts, tmp_path):
    ended = []
    tasks = [Command(str(k), (SLEEP,), tmp_path / f"{k}") for k in range(3)]

    def press():
        logs = [task.log for task in tasks[:2]]
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    is_stopped = run_processes(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda *end: ended.append((end[0].name, *end[1:])),
        on_wait=lambda running: None,
    )
    thread.join()
    assert is_stopped and sorted(ended) == [("0", 130, True), ("1", 130, True)]
    assert not tasks[2].log.exists()


def test_closed_terminal_stops_unless_told_otherwise():
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with watch_signals() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert flag.is_set
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
        with watch_signals() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not flag.is_set
    finally:
        signal.signal(signal.SIGHUP, before)
