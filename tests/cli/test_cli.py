"""The command `vrba`: flags, files, mistakes, exit codes."""

import dataclasses
import json
import linecache
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.io import netcdf_file

import vrba
from tests.cli.cases import call
from vrba.cli import COMMANDS, solve
from vrba.cli._base import UsageError
from vrba.cli.output import (
    free_folder,
    output_folder,
    print_how_to_resume,
    reproducible_command,
    write_page,
)
from vrba.cli.problem_argument import load_problem, parse_settings
from vrba.cli.recipe import RecipeFlags, new_recipe
from vrba.compare import (
    known_optimizers,
    known_policies,
    known_problems,
    make_policy,
)
from vrba.pinn import Solution

pytestmark = pytest.mark.xdist_group("cli")  # one folder, and what is compiled

TINY = ["--points", "16", "--pool", "32", "--width", "4", "--depth", "1"]
TINY += ["--no-polish"]
DECAY = """
import numpy as np
import vrba


class Decay(vrba.Problem):
    rate: float = 1.0
    domain = vrba.Box(t=(0, 1))

    def equations(self, u, t):
        return {"decay": u.t + self.rate * u}

    def conditions(self):
        return [vrba.Ansatz(lambda t, N: 1 + t * N)]

    def reference(self):
        return lambda t: np.exp(-self.rate * t)
"""
HEAT = """import jax.numpy as jnp
import numpy as np
import vrba


class Heat(vrba.Problem):
    domain = vrba.Box(t=(0, 1), x=(0, 1))

    def equations(self, u, t, x):
        return {"heat": u.t - u.xx}

    def conditions(self):
        start = vrba.Initial(lambda x: jnp.sin(jnp.pi * x))
        return [start, vrba.Dirichlet(0.0, on="x")]

    def reference(self):
        return lambda t, x: np.exp(-(np.pi**2) * t) * np.sin(np.pi * x)
"""
GRID = '{"t": np.linspace(0, 1, 3), "x": np.linspace(0, 1, 4)}'
MISTAKES = {
    "unknown coordinate": ('on="x"', 'on="y"', "`dirichlet y` is on `y`"),
    "misspelt derivative": ("u.xx", "u.xy", ", line 10: `u.xy` is a derivative by `y`"),
    "unknown name": ("- u.xx", "- k * u.xx", ", line 10: NameError: name 'k'"),
    "wrong shape": (
        "- u.xx",
        "- u.xx * jnp.ones(2)",
        "The equation `heat` must be one",
    ),
    "shapes that do not fit": ("- u.xx", "- jnp.ones(2) @ jnp.ones(3)", ", line 10: "),
    "shape of a value": ("jnp.sin(jnp.pi * x)", "jnp.ones(2)", "`initial` must be one"),
    "arguments of a value": ("lambda x:", "lambda t, x:", "`initial` is called with 1"),
    "no dictionary": ('{"heat": u.t - u.xx}', "u.t", "`equations` must return a dict"),
    "no conditions": (
        '[start, vrba.Dirichlet(0.0, on="x")]',
        "[]",
        "`conditions` has no init",
    ),
    "conditions not given": (
        "def conditions",
        "def walls",
        "`Heat` lacks `conditions`",
    ),
    "outside the domain": ('on="x"', 'on="x", at=2.0', "`dirichlet x=2` is at x = 2"),
    "misspelt argument": ('on="x"', 'no="x"', ", line 14: TypeError: "),
    "not a number": ("- u.xx", "- u.xx + jnp.log(x - 0.5)", "of `heat` is nan at t ="),
    "reference's shape": (
        "lambda t, x: np.exp(-(np.pi**2) * t) * np.sin(np.pi * x)",
        f"vrba.Reference({GRID}, np.zeros((4, 3)))",
        "The reference of `u` has shape (4, 3)",
    ),
    "reference's error": ("np.exp", "np.exq", ", line 17: "),
    "syntax": ("- u.xx}", "- u.xx", ", line 10: SyntaxError: "),
    "no problem": ("vrba.Problem", "object", "the file defines no problem"),
    "order of arguments": ("u, t, x)", "u, x, t)", "`Heat.equations` takes (u, x, t)"),
    "unknown field": (
        'on="x"',
        'on="x", field="v"',
        "has `field='v'`, but the fields are u",
    ),
    "an `if`": ("return {", "return {} if x > 0 else {", ", line 10: `if`,"),
    "numpy's function": ("jnp.sin", "np.sin", "line 13: a numpy function"),
    "empty box": ("x=(0, 1)", "x=(1, 0)", ", line 7: `Box(x=...)`"),
    "missing module": ("import numpy", "import nunpy", ", line 2: ModuleNotFoundError"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder to work in, with a problem."""
    path, before = tmp_path_factory.mktemp("cli"), Path.cwd()
    (path / "decay.py").write_text(DECAY)
    (path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    os.chdir(path)
    yield path
    os.chdir(before)


@pytest.fixture(scope="module")
def done(folder):
    """A run of three steps, without a name for its folder."""
    words = ["decay.py", *TINY, "--steps", 3, "--json", "--export", "deep/grid.nc"]
    return call("solve", *words)


# A run.


def test_json_is_the_last_line(done, folder):
    code, out, err = done
    found = json.loads(out.splitlines()[-1])
    assert code == 0 and out.count("\n") == 1
    assert (found["run"], found["step"], found["seed"]) == ("runs/decay", 3, 0)
    assert (found["stop_reason"], found["dtype"]) == ("steps", "float64")
    assert found["status"] is None
    assert set(found["errors"]) == {"last", "selected", "of_reference"}
    assert 0 < found["residual_l2"] <= found["residual_max"] < 1
    assert found["seconds"] > 0 and found["residuals"]["equations"] > 0
    assert "13 parameters in float64" in err


def test_the_linear_stage_follows_training_and_a_tolerance_ends_the_run(folder):
    words = ["decay.py", "--width", 4, "--depth", 1, "--steps", 80, "--json"]
    code, out, err = call("solve", *words, "--tolerance", 1e-7, "--out", "tight")
    found = json.loads(out.splitlines()[-1])
    assert code == 0 and found["stop_reason"] == "tolerance"
    assert found["estimated_error"] <= 1e-7 and found["errors"]["selected"] < 1e-6
    assert "linear    1" in err and "estimated" in err
    assert "Linear stage" in Path("tight/report.html").read_text(encoding="utf-8")
    code, _, err = call("solve", *words, "--tolerance", 1e-7, "--no-polish")
    assert code == 2 and "`--tolerance` needs the linear stage" in err


def test_run_folder_has_a_figure(done, folder):
    names = {path.name for path in (folder / "runs/decay").iterdir()}
    assert {"recipe.json", "checkpoint", "fields.npz", "figures"} <= names
    picture = (folder / "runs/decay/figures/solution.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "<title>Decay: decay</title>" in (
        folder / "runs/decay/report.html"
    ).read_text(encoding="utf-8")


def test_export_is_the_solution(done, folder):
    solution = Solution.load("runs/decay", problem=load_problem("decay.py", ()))
    with netcdf_file("deep/grid.nc", mmap=False) as file:
        t, u = (file.variables[name][:].copy() for name in ("t", "u"))
    np.testing.assert_allclose(u, solution(t), rtol=1e-12)


def test_resume_refuses_a_changed_file_unless_told(done, folder):
    (folder / "other").mkdir(exist_ok=True)
    changed = folder / "other" / "decay.py"
    changed.write_text(DECAY.replace("+ self.rate * u", "+ 2 * self.rate * u"))
    words = ["solve", changed, "--resume", "runs/decay", "--steps", 4]
    code, _, err = call(*words)
    assert code == 2 and "`Decay` with another source" in err
    code, out, _ = call(*words, "--allow-change")
    assert code == 0 and "Decay: residual " in out and "after 4 steps" in out
    assert "relative L2 error" in out and out.endswith("See runs/decay.\n")


def test_start_begins_with_another_run(done, folder):
    words = ["decay.py", "--points", 16, "--pool", 32, "--steps", 1, "--json"]
    words += ["--no-polish"]
    code, out, _ = call(
        "solve", *words, "--init-from", "runs/decay", "--param", "rate=1.1"
    )
    found = json.loads(out)
    assert code == 0 and found["run"] == "runs/decay-2" and found["num_params"] == 13
    assert found["errors"]["last"] < 2e-3  # a first step alone leaves 2e-2


def test_seeds_disagree(done, folder, monkeypatch):
    first = Solution.load("runs/decay", problem=load_problem("decay.py", ()))

    def fake(problem, recipe, seed, minutes, run, **__):
        """The same run with the network a little off, more so for larger seeds."""
        factor = 1 + 0.01 * seed
        params = jax.tree.map(lambda leaf: leaf * factor, first.params)
        # Selected by all terms together, not by the equations alone.
        result = first.result | {"score": 1.0 / seed, "residual_l2": 0.1 * seed}
        return dataclasses.replace(first, params=params, result=result, run=run)

    monkeypatch.setattr(solve, "solve_problem", fake)
    monkeypatch.setattr(solve, "write_page", lambda run, raises: None)
    words = ["solve", "decay.py", "--seed", 5, "--seeds", 2, "--out", "many"]
    code, out, _ = call(*words, "--json")
    found = json.loads(out)
    assert code == 0 and found["run"] == "many/seed-6"  # the lower score
    assert [run["run"] for run in found["runs"]] == ["many/seed-5", "many/seed-6"]
    assert 0 < found["disagreement"] < 0.01
    assert "2 seeds disagree by " in call(*words)[1]


def test_start_refuses_another_network(done, folder):
    words = ["decay.py", *TINY, "--init-from", "runs/decay", "--width", 5]
    code, _, err = call("solve", *words)
    assert code == 2 and "width=4" in err and "width=5" in err


@pytest.mark.slow
def test_command_stops_at_a_signal_and_says_how_to_go_on(folder):
    """The installed command, in a process of its own."""
    vrba_command = Path(sys.executable).with_name("vrba")
    words = [vrba_command, "solve", "decay.py", *TINY, "--steps", "1000000"]
    environment = os.environ | {"JAX_ENABLE_X64": "0", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*words, "--out", "stopped"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step "):
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "relative L2 error" in out
    last = err.splitlines()[-1]
    assert last == (
        "Interrupted; all progress is saved. Resume with: "
        "vrba solve decay.py --resume stopped"
    )
    saved = Solution.load("stopped", problem=load_problem("decay.py", ()))
    assert saved.result["step"] >= 15


# Words that are not known, and values that do not fit.


BAD_INPUT = [
    ([], "Give a problem to solve: FILE.py, or one of "),
    (["burger"], "Did you mean `burgers`? There are: "),
    (["gone.py"], "gone.py: there is no such file"),
    (["decay.py:Growth"], "There is no problem in decay.py `Growth`"),
    (["decay.py", "--param", "speed=1"], "no parameter of Decay `speed`"),
    (["decay.py", "--param", "rate"], "must be a name and a value"),
    (["decay.py", "--param", "rate=fast"], "must be of type float"),
    (["decay.py", "--optimizer", "adm"], "Did you mean `adam`? There are: "),
    (["decay.py", "--policy", "wild"], "There is no policy `wild`. There are: "),
    (["decay.py", "--potential", "x"], "There is no potential `x`. There are: "),
    (["decay.py", "--policy", "rba", "--potential", "cosh"], "takes no potential"),
    (["decay.py", "--points", "9", "--pool", "8"], "more than the pool"),
    (["decay.py", "--minutes", "0"], "`--minutes` must be positive"),
    (["decay.py", "--seeds", "0"], "`--seeds` must be at least 1"),
    (["decay.py", "--export", "a.txt"], "must end in .npz or .nc"),
    (["decay.py", "--export", "decay.py/a.npz"], "cannot be written"),
    (
        ["decay.py", "--seed", str(2**31 - 1), "--seeds", "2"],
        "`--seed` and the last of `--seeds` must be between",
    ),
    (["decay.py", "--steps", "0"], "`--steps` must be at least 1, got 0"),
    (["decay.py", "--points", "0"], "`--points` must be at least 1, got 0"),
    (
        ["decay.py", "--resample-every", "0"],
        "`--resample-every` must be at least 1, got 0",
    ),
    (["leaves.py"], "leaves.py exits the program: 3"),
    (["decay.py", "--out", "runs/decay"], "already holds a run"),
    (["decay.py", "--resume", "nowhere"], "is no run folder"),
    (["--resume", "runs/decay"], "does not come with vrba"),
    (["decay.py", "--resume", "runs/decay", "--seed", "1"], "cannot be changed"),
    (["--param", "rate=1", "--resume", "runs/decay"], "needs TARGET"),
]


def test_bad_input_is_refused_at_once(done, folder):
    for words, complaint in BAD_INPUT:
        code, out, err = call("solve", *words)
        assert code == 2 and out == "" and complaint in err, words
        assert err.startswith("vrba: ") and len(err.splitlines()) <= 2


def test_settings_are_of_the_type_that_is_asked_for():
    @dataclasses.dataclass
    class Case:
        rate: float = 1.0
        count: "int | None" = None
        most: float | None = None
        name: str = ""
        number: float | int = 1
        shape: tuple = ()

    words = ["rate=2", "count=3", "most=4", "name=1", "number=5", "shape=(1, 2)"]
    found = parse_settings(Case, words)
    assert found == {"rate": 2.0, "count": 3, "most": 4.0, "name": "1"} | {
        "number": 5,
        "shape": (1, 2),
    }
    kinds = ["float", "int", "float", "str", "int", "tuple"]
    assert [type(value).__name__ for value in found.values()] == kinds
    assert parse_settings(Case, ["most=None", "name='a b'"]) == {
        "most": None,
        "name": "a b",
    }
    for pair, kind in {
        "most=abc": "float or None",
        "count=1.5": "int or None",
        "rate=True": "float",
    }.items():
        with pytest.raises(
            UsageError, match=f"`--param {pair}` must be of type {kind}"
        ):
            parse_settings(Case, [pair])


# The parser.


def test_help_and_version():
    code, out, _ = call()
    assert code == 0 and call("--help") == call("-h") == (0, out, "")
    for name, (_, text) in COMMANDS.items():
        assert f"  {name}" in out and text in out
    assert call("--version") == (0, f"vrba {version('vrba')}\n", "")
    for name in COMMANDS:
        code, out, _ = call(name, "--help")
        assert code == 0 and f"usage: vrba {name}" in out and "--debug" in out


PARSER_ERRORS = {
    "traim": "There is no command `traim`. Did you mean `train`? The commands are",
    "--param": "There is no flag `--param`. The commands are solve, train",
    "solve burgers --polcy rad": "There is no flag `--polcy`. Did you mean `--policy`?",
    "solve burgers --Minutes=2": "There is no flag `--Minutes`. Did you mean",
    "solve burgers -x": "There is no flag `-x`. `vrba solve --help` lists all flags.",
    "solve burgers --minutes two": "`--minutes` must be a number, got `two`.",
    "solve burgers --seeds 1.5": "`--seeds` must be a whole number, got `1.5`.",
    "solve burgers --seeds=many": "`--seeds` must be a whole number, got `many`.",
    "solve burgers --points None": "`--points` must be a whole number, got `None`.",
    "solve burgers --minutes": "`--minutes` needs a value.",
    "solve burgers --policy --seed 1": "`--policy` needs a value.",
    "solve burgers --dtype float16": "must be one of float32, float64, got `float16`.",
    "solve burgers twice": "Unexpected argument `twice`.",
    "data mak bubble": "must be one of make, info, got `mak`. Did you mean `make`?",
    "data make": "Usage: vrba data make|info NAME|FILE",
    "train x.h5 --batches 3": "There is no flag `--batches`. Did you mean `--batch`?",
}


def test_parser_errors_are_plain_sentences():
    for words, message in PARSER_ERRORS.items():
        code, out, err = call(*words.split())
        assert code == 2 and out == "" and message in err, words
        assert err.startswith("vrba: ") and err.count("\n") == 1, words


def test_flags_may_be_typed_with_equals_and_underscores(folder):
    words = ["--init_from=nowhere", "--minutes=-1", "decay.py"]
    assert "`--minutes` must be positive, got -1" in call("solve", *words)[2]


def test_help_neither_needs_figures_nor_minds_a_closed_pipe():
    """The installed module in processes of their own, as `vrba --help | head -1`."""
    program = "import sys; from vrba.cli.entry import main; main(sys.argv[1:]); "
    program += "sys.stderr.write(str([m for m in ('matplotlib', 'rich') if m in "
    program += "sys.modules]))"
    words = [sys.executable, "-c", program, "train", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "usage: vrba train" in done.stdout and done.stderr == "[]"
    for words in (["--help"], ["list"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "vrba", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()  # before anything is written
        assert process.wait(60) == 141 and process.stderr.read() == b""
        process.stderr.close()


# Errors that are not the user's.


def test_a_defect_is_reported_as_such(folder, monkeypatch):
    """A plain `ValueError`, as JAX raises it, is not bad input."""

    def fail(*_, **__):
        raise ValueError("Incompatible shapes for broadcasting: (2,) and (3,)\nlong")

    monkeypatch.setattr(solve, "solve_problem", fail)
    code, _, err = call("solve", "decay.py")
    assert code == 1 and err == (
        "vrba: ValueError: Incompatible shapes for broadcasting: (2,) and (3,)\n"
        "This is a defect of vrba; add `--debug` to see the traceback.\n"
    )
    assert "Traceback" in call("solve", "decay.py", "--debug")[2]


def test_a_full_disk_is_no_defect(folder, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "`runs` could not be written")

    monkeypatch.setattr(solve, "solve_problem", fail)
    code, _, err = call("solve", "decay.py")
    assert code == 1 and "could not be written" in err
    assert "Traceback" not in err and "defect" not in err


def test_interrupt_before_the_first_step(folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "solve_problem", stop)
    assert call("solve", "decay.py") == (130, "", "Interrupted.\n")


# Mistakes in a file.


def test_a_mistake_names_the_line_or_the_term(tmp_path):
    out_folder, file = tmp_path / "a", tmp_path / "heat.py"
    for name, (right, wrong, complaint) in MISTAKES.items():
        assert right in HEAT
        file.write_text(HEAT.replace(right, wrong))
        linecache.clearcache()
        code, out, err = call("solve", file, *TINY, "--steps", 1, "--out", out_folder)
        assert code == 2 and out == "" and err.startswith(f"vrba: {file}"), name
        assert complaint in err and len(err.splitlines()) <= 2, name
        assert not out_folder.exists()


def test_file_of_several_problems(tmp_path):
    file = tmp_path / "two.py"
    file.write_text(HEAT + DECAY)
    code, _, err = call("solve", file)
    assert code == 2 and "the file defines 2 problems, Heat, Decay: choose one" in err
    assert type(load_problem(f"{file}:Decay", ())).__name__ == "Decay"


# Names.


def test_a_folder_that_leads_nowhere_ends_the_search(tmp_path):
    (tmp_path / "runs").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="runs"):
        free_folder(tmp_path / "runs" / "decay")


def test_a_free_folder_is_taken_at_once(tmp_path):
    wanted = tmp_path / "runs" / "decay"
    assert free_folder(wanted) == wanted and wanted.is_dir()
    assert free_folder(wanted) == wanted.with_name("decay-2")
    with output_folder(None, wanted) as third:
        assert third.name == "decay-3" and third.is_dir()
    with output_folder(None, wanted) as again:  # nothing came into it
        assert again == third
        (again / "recipe.json").write_text("{}")
    assert again.exists()
    with output_folder(tmp_path / "own", wanted) as own:
        assert own == tmp_path / "own"


def test_names_are_found_by_looking():
    assert {"burgers", "allen-cahn", "kdv"} <= set(known_problems())
    wanted = {"lm", "ssbroyden", "ssbfgs", "bfgs", "adam", "lbfgs", "adam-ssbroyden"}
    assert wanted <= set(known_optimizers())
    wanted = {"uniform", "sampling", "weighting", "rba", "rad", "default", "brdr"}
    wanted |= {"default", "vrba-weighting", "vrba-sampling", "vrba-unbiased"}
    assert wanted <= set(known_policies())
    assert "hybrid" not in known_policies()


@pytest.mark.parametrize("name", ["allen-cahn", "Allen_Cahn", "AllenCahn"])
def test_a_problem_may_be_typed_in_many_ways(name):
    assert isinstance(load_problem(name, ["is_soft=true"]), vrba.problems.AllenCahn)
    assert load_problem(name, ["is-soft=True"]).is_soft is True


@pytest.mark.parametrize("text", ["none", "None"])
def test_a_setting_may_be_none(text):
    words = ["is_soft=true", f"num_initial={text}"]
    assert load_problem("allen-cahn", words).num_initial is None


def test_settings_become_numbers():
    assert load_problem("burgers", ["viscosity=1"]).viscosity == 1.0
    assert isinstance(load_problem("burgers", ["viscosity=1"]).viscosity, float)


@pytest.mark.parametrize("name", sorted(known_policies()))
def test_every_policy_can_be_made(name):
    own = vrba.Recipe().policy
    policy = make_policy(name, None, own)
    assert policy.init(9, points=np.zeros((9, 1))) is not None
    assert (policy is own) == (name == "default")


@pytest.mark.parametrize("minutes", [None, 1.0, 20.0])
@pytest.mark.parametrize("name", sorted(known_optimizers()))
def test_every_optimizer_gets_a_recipe_that_suits_it(name, minutes):
    problem = load_problem("burgers", ())
    recipe = new_recipe(RecipeFlags(optimizer=name, steps=7), problem, minutes, None)
    is_second_order = recipe.optimizer.needs_residuals
    assert is_second_order == isinstance(
        recipe.optimizer, vrba.optim.LevenbergMarquardt
    )
    assert recipe.max_steps == 7
    assert recipe.resample_every == (15 if is_second_order else 100)
    assert isinstance(recipe.balance, vrba.pinn.GradientNorms) is not is_second_order
    usual = new_recipe(RecipeFlags(), problem, minutes, None)
    for part in ("model", "num_points", "pool_size", "policy"):
        assert getattr(recipe, part) == getattr(usual, part)


def test_flags_change_their_part_of_the_recipe():
    problem = load_problem("burgers", ())
    flags = RecipeFlags(potential="exponential", points=20_000, depth=2)
    recipe = new_recipe(flags, problem, None, None)
    default = new_recipe(RecipeFlags(), problem, None, None)
    assert recipe.pool_size == 8 * recipe.num_points == 160_000
    assert isinstance(recipe.policy.potential, vrba.Exponential)
    assert recipe.policy.correction == default.policy.correction
    assert (recipe.model.width, recipe.model.depth) == (default.model.width, 2)
    assert new_recipe(RecipeFlags(pool=64), problem, None, None).num_points == 64


def test_a_page_that_cannot_be_drawn_loses_nothing(tmp_path, monkeypatch, capsys):
    def refuse(path):
        raise RuntimeError("no ink")

    monkeypatch.setattr(sys.modules["vrba.compare"], "write_report", refuse)
    write_page(tmp_path, raises=False)
    said = capsys.readouterr().err
    assert "RuntimeError: no ink" in said and f"vrba report {tmp_path}" in said
    with pytest.raises(RuntimeError):
        write_page(tmp_path, raises=True)


def test_reproducible_command_has_no_output_options():
    words = ("solve", "my pde.py", "--out", "runs/a", "--json", "--minutes", "2")
    assert reproducible_command(words) == "vrba solve 'my pde.py' --minutes 2"
    words = ("solve", "burgers", "--out=here")
    assert reproducible_command(words) == "vrba solve burgers"
    assert reproducible_command(()) is None


def test_a_resumed_run_gets_more_time(capsys):
    """The limit counts the time before a resume: the same one would end at once."""
    words = ["vrba", "solve", "--resume", "runs/burgers"]
    result = {"manifest": {"minutes": 1.5}, "seconds": 91.0}
    for reason in ("time", "interrupted", "steps"):
        print_how_to_resume(result | {"stop_reason": reason}, words)
    late = result | {"stop_reason": "time", "seconds": 600.0}  # compilation took them
    print_how_to_resume(late, words)
    assert capsys.readouterr().err == (
        "Time limit reached. Resume with: vrba solve --resume runs/burgers "
        "--minutes 3.03\n"
        "Interrupted; all progress is saved. Resume with: vrba solve --resume "
        "runs/burgers\n"
        "Time limit reached. Resume with: vrba solve --resume runs/burgers "
        "--minutes 20\n"
    )
