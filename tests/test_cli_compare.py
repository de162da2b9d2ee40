"""`vrba list` and `vrba compare`."""

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
from vrba.train import Trainer
from vrba.train.loop import watch_signals

import vrba
from tests.cli.cases import call, children_that_share
from tests.rooms import concrete
from vrba.cli import children, machine
from vrba.cli.arms import Settings
from vrba.cli.children import Task, run_all
from vrba.cli.comparison import ComparisonFolder, of_versions, text_of
from vrba.cli.list import catalogue, first_sentence
from vrba.cli.output import as_json
from vrba.cli.recipe import RecipeFlags
from vrba.cli.subjects import Equation, recipes_of
from vrba.cli.watcher import Watcher
from vrba.core import append_line
from vrba.problems import EQUATIONS, Formulation
from vrba.report import Board
from vrba.report.summary import summarise

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
TINY = ["--points", "8", "--pool", "32", "--width", "4", "--depth", "1"]
ARMS = ["--policies", "uniform,default:Exponential", "--seeds", "2", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to work in, with a problem; children share what they compile."""
    path, before = tmp_path_factory.mktemp("compare"), Path.cwd()
    (path / "decay.py").write_text(DECAY)
    with children_that_share(path / "compiled"):
        os.chdir(path)
        yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def done(folder):
    """Two arms with two seeds each, of three steps."""
    words = ["decay.py", *ARMS, *TINY, "--steps", 3, "--out", "both", "--json"]
    return call("compare", *words)


# What there is.


def test_list_shows_every_exported_class():
    _, out, _ = call("list", "--json")
    listed = {
        name for kind in json.loads(out).values() for e in kind for name in e["names"]
    }
    bases = {
        "vrba.adapt": (vrba.AbstractPolicy, vrba.AbstractPotential),
        "vrba.optim": (vrba.optim.AbstractOptimizer,),
        "vrba.problems": (vrba.Problem, vrba.AbstractCondition),
        "vrba.models": (
            vrba.models.AbstractArchitecture,
            vrba.models.AbstractOperatorArchitecture,
        ),
        "vrba.domains": (vrba.AbstractDomain,),
    }
    plain = {name.split(".")[-1].replace("-", "").lower() for name in listed}
    for room, kinds in bases.items():
        for cls in (cls for base in kinds for cls in concrete(room, base)):
            assert cls.__name__.lower() in plain


def test_list_gives_a_line_each_with_a_sentence():
    code, out, _ = call("list", "potentials")
    lines = out.splitlines()
    assert code == 0 and len(lines) == len(catalogue()["potentials"])
    about = first_sentence(vrba.Cosh)
    assert f"cosh               {about}" in lines and about.endswith(".")
    both = call("list")[1]
    assert "problems:\nadvection" in both and "levenberg-marquardt, lm  " in both


def test_first_sentence_ends_where_it_ends():
    def method():
        """Known from Toscano et al. (2025), in
        two lines. And more.

        A paragraph.
        """

    assert first_sentence(method) == "Known from Toscano et al. (2025), in two lines."


def test_list_refuses_an_unknown_word():
    code, out, err = call("list", "potential")
    assert code == 2 and out == "" and "Did you mean `potentials`?" in err


# A comparison.


def test_comparison_has_every_run(done, folder):
    code, out, err = done
    found = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    runs = {(run["arm"], run["seed"]): run for run in found["runs"]}
    assert set(runs) == {
        (arm, seed) for arm in ("uniform", "default:exponential") for seed in (3, 4)
    }
    assert {run["step"] for run in runs.values()} == {3}
    assert {run["status"] for run in runs.values()} == {"num_steps_reached"}
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
        arm: [r["residual"]["selected"] for r in found["runs"] if r["arm"] == arm]
        for arm in found["arms"]
    }
    for arm, values in by_arm.items():
        assert found["arms"][arm]["selected"]["median"] == pytest.approx(
            np.median(values)
        )
    ratios = sorted(np.divide(by_arm["default:exponential"], by_arm["uniform"]))
    paired = found["against_baseline"]["default:exponential"]
    np.testing.assert_allclose(paired["ratios"], ratios)
    assert "(median of 2 seeds, " in found["sentences"][0]


def test_comparison_leaves_table_and_page(done, folder):
    table = Path("both/table.md").read_text()
    assert table.startswith("| arm ") and "| default:exponential | 2 " in table
    page = Path("both/report.html").read_text(encoding="utf-8")
    assert 'href="vrba-exponential/seed-3/report.html"' in page
    assert "Nothing was logged yet that could be drawn." in page  # in three steps


def test_arms_begin_with_the_same_parameters(done, folder):
    """The checkpoint before the last is the one before the first step."""
    first = {}
    for arm in ("uniform", "vrba-exponential"):
        for seed in (3, 4):
            path = Path("both") / arm / f"seed-{seed}" / "checkpoint/previous.npz"
            with np.load(path) as file:
                assert json.loads(str(file["header"]))["step"] == 0
                first[arm, seed] = [file[f"leaf_{k}"] for k in range(4)]
    sizes = {leaf.shape for leaf in first["uniform", 3]}
    assert sizes == {(4, 1), (4,), (1, 4), (1,)}  # the network is what was read
    for seed in (3, 4):
        pairs = zip(
            first["uniform", seed], first["vrba-exponential", seed], strict=True
        )
        assert all(np.array_equal(a, b) for a, b in pairs)
    assert not np.array_equal(first["uniform", 3][0], first["uniform", 4][0])


def test_arms_have_the_same_points_and_settings(folder):
    flags = RecipeFlags(points=8, pool=32, width=4, depth=1)
    subject = Equation("decay.py", (), flags)
    problem = subject.problem
    recipes = recipes_of(subject, "uniform,rad,default,rba", 1.0)
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
    key = lambda run: (run["arm"], run["seed"], run["residual"])
    assert [key(run) for run in again["runs"]] == [key(run) for run in first["runs"]]
    three = {"median": 3, "lowest": 3, "highest": 3}
    assert [arm["step"] for arm in again["arms"].values()] == [three] * 2


def test_only_some_arms_are_made(done, folder):
    """Runs of the others, and their failures, stay as they are."""
    path = Path("both/comparison.json")
    before = json.loads(path.read_text())
    for arm in ("uniform", "vrba-exponential"):
        shutil.rmtree(f"both/{arm}/seed-4")
    failed = {
        f"{arm}, seed 4": "no memory" for arm in ("uniform", "default:exponential")
    }
    path.write_text(json.dumps(before | {"failures": failed}))
    words = ["compare", "--resume", "both", "--json"]
    code, out, err = call(*words, "--only", "Uniform")
    assert code == 1 and "4 runs, 1 of them to make" in err
    runs = {(run["arm"], run["seed"]) for run in json.loads(out)["runs"]}
    assert runs == {("uniform", 3), ("default:exponential", 3), ("uniform", 4)}
    assert list(json.loads(out)["failures"]) == ["default:exponential, seed 4"]
    code, out, _ = call(*words)
    assert code == 0 and json.loads(out)["failures"] == {}
    assert len(json.loads(out)["runs"]) == 4


def test_resume_refuses_another_problem(done, folder):
    other = folder / "other.py"
    other.write_text(DECAY.replace("u.t + u", "u.t + 2 * u"))
    code, _, err = call("compare", other, "--resume", "both")
    assert code == 2 and "has changed since `both` was begun" in err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Give a problem to solve: FILE.py, or one of "),
        (["decay.py", "--policies", "uniform,radd"], "Did you mean `rad`? There are: "),
        (["decay.py", "--policies", ","], "`--policies` names none"),
        (
            ["decay.py", "--policies", "vrba,default"],
            "`vrba` and `default` are the same",
        ),
        (["decay.py", "--policies", "rad:cosh"], "`rad` takes no potential"),
        (["decay.py", "--policies", "vrba:cash"], "Did you mean `cosh`?"),
        (["decay.py", "--policies", "vrba:"], "There is no potential ``"),
        (["decay.py", "--policy", "rad"], "write it into `--policies`"),
        (["decay.py", "--potential", "cosh"], "write it into `--policies`"),
        (["decay.py", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["decay.py", "--jobs", "0"], "`--jobs` must be at least 1, got 0"),
        (["decay.py", "--minutes", "-1"], "`--minutes` must be positive"),
        (["gone.py"], "gone.py: there is no such file"),
        (["decay.py", "--out", "both"], "already holds a comparison"),
        (["--resume", "nowhere"], "`nowhere` is no comparison"),
        (["--resume", "both", "--steps", "9"], "goes on with the settings"),
        (["--resume", "both", "--seeds", "1"], "less than the 2 of"),
        (["--resume", "both", "--only", "rad"], "There is no arm `rad`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_refused_at_once(done, folder, words, complaint):
    code, out, err = call("compare", *words)
    assert code == 2 and out == "" and complaint in err
    assert err.startswith("vrba: ") and len(err.splitlines()) <= 2


# Without children.


@pytest.fixture
def fake(folder, monkeypatch):
    """Commands that fail for one arm, and are remembered."""
    seen = []

    def run(tasks, *, on_end, jobs, num_threads, on_look):
        seen.extend(tasks)
        for task in tasks:
            task.log.parent.mkdir(parents=True)
            task.log.write_text("step 1\nvrba: decay.py, line 9: no\n    return u\n")
            on_end(task, 2, False)
        return False

    monkeypatch.setattr("vrba.cli.compare.run_all", run)
    return seen


def test_failing_runs_are_named(fake, folder):
    words = ["decay.py", "--policies", "rad,rba", "--seeds", 1, *TINY, "--out", "bad"]
    code, out, err = call("compare", *words)
    assert code == 1 and out.startswith("No run has ended yet.")
    assert "rba, seed 0: failed: decay.py, line 9: no return u" in err
    found = json.loads(Path("bad/comparison.json").read_text())
    assert set(found["failures"]) == {"rad, seed 0", "rba, seed 0"}
    assert found["sentences"] == ["rba: no seed was run both with it and with rad."]
    assert "of at most 1 min" in err  # neither minutes nor steps were given
    assert fake[0].words[:4] == ("solve", "decay.py", "--policy", "rad")
    assert "--minutes" in fake[0].words


@pytest.mark.parametrize("only", [[], ["--only", "rad"]])
def test_what_was_stopped_goes_on_with_the_same_arms(folder, monkeypatch, only):
    monkeypatch.setattr("vrba.cli.compare.run_all", lambda *_, **__: True)
    out = f"stopped-{len(only)}"
    words = ["decay.py", "--policies", "rad,rba", *TINY, "--out", out, *only]
    code, _, err = call("compare", *words)
    again = " ".join(["vrba compare --resume", out, *only])
    assert code == 130 and f"To go on: {again}\n" in err
    assert "of them to make" in err if only else "of them" not in err


def test_whoever_watches_sees_where_runs_stand(folder):
    settings = Settings("solve", "decay.py", (), ("rad", "rba"), 0, 1, {}, 1)
    watcher = Watcher(ComparisonFolder(folder / "seen"), settings)
    stream = io.StringIO()
    watcher.board = Board(Console(file=stream, force_terminal=True, width=80))
    first, second = watcher.tasks(settings.arms)
    entry = {"step": 15, "residual_l2": 1e-3, "seconds": 7.0}
    first.log.parent.mkdir(parents=True)
    append_line(first.log.with_name("metrics.jsonl"), entry)
    watcher.on_end(second, 1, True)
    watcher.on_look([first])
    watcher.board.close()
    assert "rba, seed 0: stopped" in stream.getvalue() and not watcher.failures
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
        plain["status"] = "num_steps_reached"
        return {"arm": arm, "seed": seed, "error": errors} | plain

    settings = Settings("solve", "burgers", (), ("rad", "uniform"), 0, 2, {}, 1)
    runs = [run("rad", 0, 1e-7), run("rad", 1, 1e-3)]
    runs += [run("uniform", 0, 1e-6), run("uniform", 1, 1e-3)]
    found = summarise(settings.arms, settings.baseline, runs)
    assert found["baseline"] == "uniform" and found["floor"] == pytest.approx(3e-5)
    assert found["against_baseline"]["rad"]["ratios"] == (1.0, 1.0)
    assert "<3.0e-5" in found["table"] and found["measure"] == "relative L2 error"


@pytest.mark.parametrize(
    ("steps", "is_told"), [((10, 12), False), ((2, 12), True), ((0, 0), True)]
)
def test_times_that_were_not_equal_are_told(steps, is_told):
    run = {"arm": "rad", "error": None, "seconds": 1.0, "residual_l2": 1.0}
    run |= {"residual": {"selected": 1.0, "last": 1.0}, "status": "time_reached"}
    runs = [run | {"seed": seed, "step": step} for seed, step in enumerate(steps)]
    settings = Settings("solve", "burgers", (), ("rad",), 0, 2, {"minutes": 1.0}, 1)
    found = summarise(settings.arms, settings.baseline, runs)
    assert bool(found["warnings"]) == is_told
    told = text_of(found | {"settings": dataclasses.asdict(settings)})
    assert ("`--steps`" in told) == is_told
    ended = [one | {"status": "no_descent"} for one in runs]
    assert summarise(settings.arms, settings.baseline, ended)["warnings"] == []


def test_runs_of_several_versions_are_told():
    one, other = {"vrba": "1", "jax": "1"}, {"vrba": "1", "jax": "2"}
    assert of_versions([]) == of_versions([one]) == []
    assert of_versions([one, other])[0].startswith("2 versions of the program")


def test_a_comparison_with_a_lost_arm_can_be_written():
    """A ratio that is infinite becomes null, and nothing is lost."""
    run = {"error": None, "seconds": 1.0, "residual_l2": 1.0, "step": 3, "seed": 0}
    run["status"] = "time_reached"
    sizes = {"uniform": 0.0, "rad": math.inf}
    runs = [
        run | {"arm": arm, "residual": {"selected": size, "last": size}}
        for arm, size in sizes.items()
    ]
    settings = Settings(
        "solve", "burgers", (), ("uniform", "rad"), 0, 1, {"steps": 3}, 1
    )
    found = json.loads(as_json(summarise(settings.arms, settings.baseline, runs)))
    assert found["against_baseline"]["rad"]["median"] is None


def test_share_of_the_machine(monkeypatch):
    monkeypatch.setattr(machine, "num_cores", lambda: 8)
    monkeypatch.setattr(machine, "free_bytes", lambda: 10e9)
    assert machine.choose_jobs(20, 1e9) == 8 and machine.choose_jobs(3, 1e9) == 3
    assert machine.choose_jobs(20, 2e9) == 4 and machine.choose_jobs(20, 90e9) == 1
    assert [machine.share_of_cores(jobs) for jobs in (1, 3, 8, 20)] == [8, 2, 1, 1]
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "old")
    found = machine.environment(2)
    assert found["OMP_NUM_THREADS"] == found["NPROC"] == "2"
    assert "JAX_COMPILATION_CACHE_DIR" not in found and "PATH" in found


def test_free_memory_is_less_than_all():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < machine.free_bytes() < total


# Processes.

SLEEP = "import signal, sys, time\n"
SLEEP += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))\n"
SLEEP += "print('ready', flush=True)\ntime.sleep(60)"


@pytest.fixture
def scripts(monkeypatch):
    """Tasks are Python programs; whoever is at work is seen."""
    start = children.subprocess.Popen

    def popen(command, **options):
        return start([sys.executable, "-c", *command[4:]], **options)

    monkeypatch.setattr(children.subprocess, "Popen", popen)


def test_tasks_run_so_many_at_a_time(scripts, tmp_path):
    ended, most = [], []
    texts = [
        "import sys; sys.exit(3)",
        "import os; os.kill(os.getpid(), 9)",
        "print(1)",
    ]
    tasks = [Task(str(k), (text,), tmp_path / f"{k}") for k, text in enumerate(texts)]
    is_stopped = run_all(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda task, code, _: ended.append((task.name, code)),
        on_look=lambda running: most.append(len(running)),
    )
    assert not is_stopped and max(most) <= 2
    assert sorted(ended) == [("0", 3), ("1", -9), ("2", 0)]
    assert tasks[0].complaint(3) == "ended with code 3"
    assert "SIGKILL" in tasks[1].complaint(-9)
    assert tasks[2].complaint(0) == "1"


def test_signal_stops_all_tasks(scripts, tmp_path):
    ended = []
    tasks = [Task(str(k), (SLEEP,), tmp_path / f"{k}") for k in range(3)]

    def press():
        logs = [task.log for task in tasks[:2]]
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    is_stopped = run_all(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda *end: ended.append((end[0].name, *end[1:])),
        on_look=lambda running: None,
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
