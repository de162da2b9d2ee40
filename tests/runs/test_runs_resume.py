"""A run that was stopped, killed or cut short goes on as if it had never been."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import vrba
from tests.pinn.cases import Decay, Edge, tiny_recipe
from vrba import optim
from vrba.core import BrokenFileError, is_locked, lock_folder
from vrba.pinn import Solution, Trainer
from vrba.problems import Residual
from vrba.runs import (
    Checkpointer,
    RunFolder,
    RunRecord,
    Silent,
    check_same_problem,
    describe_problem,
    load_header,
)

pytestmark = [
    pytest.mark.xdist_group("train"),
    pytest.mark.usefixtures("users_compiler"),  # as the programs that are killed have
]


class Killed(BaseException):
    """What happens to the files when the program dies here."""


def run(path, **options):
    options = {"save_every": 0.0, "callback": Silent()} | options
    return vrba.solve(Decay(), tiny_recipe(), run=path, **options)


def resume(path, **options):
    options = {"save_every": 0.0, "callback": Silent()} | options
    return vrba.solve(run=path, problem=Decay(), resume=True, **options)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "unbroken"
    return run(path), path


def is_same(one, two):
    pairs = zip(
        jax.tree.leaves((one.params, one.last_params)),
        jax.tree.leaves((two.params, two.last_params)),
        strict=True,
    )
    return all(np.array_equal(a, b) for a, b in pairs)


def without_times(record):
    return [{k: v for k, v in entry.items() if k != "seconds"} for entry in record]


def assert_as_if_never_stopped(found, unbroken):
    whole, path = unbroken
    assert is_same(found, whole)
    assert without_times(found.record) == without_times(whole.record)
    folder = RunFolder(found.run)
    assert without_times(folder.record()) == without_times(RunFolder(path).record())


def die_at(monkeypatch, method, is_last):
    """The program dies in `method` of the trainer, once `is_last(state)`."""
    whole = getattr(Trainer, method)

    def dying(self, state, *args):
        found = whole(self, state, *args)
        if is_last(found[0] if isinstance(found, tuple) else found):
            raise Killed
        return found

    monkeypatch.setattr(Trainer, method, dying)


@pytest.mark.parametrize(
    "method, step",
    [
        ("advance", 4),
        ("advance", 9),
        ("advance", 15),
        ("resample", 12),
        ("resample", 16),
    ],
    ids=["adam", "quasi-newton", "levenberg-marquardt", "resample", "last resample"],
)
def test_killed_in_each_stage(method, step, unbroken, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        die_at(patch, method, lambda state: int(state.num_steps) >= step)
        with pytest.raises(Killed):
            run(tmp_path / "run")
    done = load_header(RunFolder(tmp_path / "run").checkpoint("latest"))
    assert 0 < done["step"] <= step
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)


@pytest.mark.parametrize("name", ["incoming", "latest"])
def test_killed_while_a_checkpoint_is_written(name, unbroken, tmp_path, monkeypatch):
    module = sys.modules["vrba.core.files"]
    whole = module.write_atomically
    count = 0

    def dying(path, content):
        nonlocal count
        count += path.name == "incoming.npz"
        if count == 5 and path.name == "incoming.npz":
            path.with_name(f"{name}.npz").write_bytes(content[: len(content) // 2])
            raise Killed
        whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_atomically", dying)
        with pytest.raises(Killed):
            run(tmp_path / "run")
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)


def die(*args):
    raise Killed


def run_until(owner, method, path, monkeypatch):
    """A run that dies when it calls this method."""
    with monkeypatch.context() as patch:
        patch.setattr(owner, method, die)
        with pytest.raises(Killed):
            run(path)


def test_killed_before_the_run_is_described(unbroken, tmp_path, monkeypatch):
    run_until(RunFolder, "write_manifest", tmp_path / "run", monkeypatch)
    assert_as_if_never_stopped(run(tmp_path / "run"), unbroken)


def test_killed_before_the_first_checkpoint(unbroken, tmp_path, monkeypatch):
    run_until(Checkpointer, "save", tmp_path / "run", monkeypatch)
    with pytest.raises(ValueError, match="no checkpoint yet: start the run again"):
        resume(tmp_path / "run")
    assert_as_if_never_stopped(run(tmp_path / "run"), unbroken)


@pytest.mark.parametrize("has_latest", [True, False])
def test_killed_before_a_checkpoint_takes_its_place(
    has_latest, unbroken, tmp_path, monkeypatch
):
    """Two renames follow the writing; between them the folder has no `latest`."""
    whole = os.replace

    def dying(source, target):
        is_rename = str(source).endswith("incoming.npz")
        if is_rename and load_header(source)["step"] >= 9:
            raise Killed
        whole(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(Killed):
            run(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert not folder.checkpoint("latest").exists()
    if has_latest:  # killed before the first of the two
        whole(folder.checkpoint("previous"), folder.checkpoint("latest"))
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)


def test_all_checkpoints_broken_is_an_error(unbroken, tmp_path):
    run(tmp_path / "run")
    for name in ("latest", "previous"):
        file = RunFolder(tmp_path / "run").checkpoint(name)
        file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ValueError, match="No checkpoint .* incomplete"):
        resume(tmp_path / "run")


def test_damage_that_only_zip_files_know_is_damage(unbroken, tmp_path):
    """A version of the format that does not exist: the checkpoint before is taken."""
    run(tmp_path / "run")
    file = RunFolder(tmp_path / "run").checkpoint("latest")
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 255
    file.write_bytes(bytes(content))
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)


def test_strange_lines_and_files_do_not_keep_a_run_from_going_on(unbroken, tmp_path):
    run(tmp_path / "run", callback=SignalAtCheck(signal.SIGINT))
    folder = RunFolder(tmp_path / "run")
    with open(folder.metrics_file, "ab") as file:
        file.write(b'3\nnull\n{"step": "x"}\n{"a": 1}\n\xff\n')
    (folder.path / "drawn").mkdir(exist_ok=True)
    (folder.path / "drawn" / "abc.npy").write_bytes(b"")
    assert_as_if_never_stopped(resume(folder.path), unbroken)


CHILD = """
import sys, time
sys.path.insert(0, {root!r})
import vrba
from tests.pinn.cases import Decay, tiny_recipe
from vrba.runs import Silent
from vrba.pinn import Trainer
whole = Trainer.advance
def slow(self, state, count):
    time.sleep(0.05)
    return whole(self, state, count)
Trainer.advance = slow
vrba.solve(Decay(), tiny_recipe(), run={path!r}, save_every=0.0, callback=Silent())
"""


def saved_step(path):
    """Of the latest checkpoint; zero before the first, and while one takes the place of
    another."""
    try:
        return load_header(RunFolder(path).checkpoint("latest"))["step"]
    except FileNotFoundError:
        return 0


@pytest.mark.slow
def test_kill_9(unbroken, tmp_path):
    path = tmp_path / "run"
    code = CHILD.format(root=str(Path(__file__).parents[2]), path=str(path))
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and child.poll() is None:
            if saved_step(path) >= 7:
                break
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert_as_if_never_stopped(resume(path), unbroken)


class SignalAtCheck(Silent):
    """Sends a signal to this program at its second check."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def on_check(self, entry, seconds_left):
        self.count += 1
        if self.count == 2:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_with_everything_saved(number, unbroken, tmp_path):
    before = signal.getsignal(number)
    stopped = run(tmp_path / "run", callback=SignalAtCheck(number), save_every=1e9)
    assert stopped.result["stop_reason"] == "interrupted"
    assert stopped.result["step"] < tiny_recipe().max_steps
    assert signal.getsignal(number) == before
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)


def test_full_disk_is_said_and_the_last_checkpoint_stays(tmp_path, monkeypatch):
    whole = os.fsync
    calls = 0

    def full(number):
        nonlocal calls
        calls += 1
        if calls > 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="intact.*space"):
            run(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert load_header(folder.checkpoint("latest"))["step"] > 0
    assert not list(folder.path.rglob("*.part"))


def test_resume_refuses_another_problem(unbroken, tmp_path):
    run(tmp_path / "run")
    with pytest.raises(ValueError, match="with another settings"):
        vrba.solve(Decay(rate=2.0), run=tmp_path / "run", resume=True)


class Forced(vrba.Problem):
    """`u'' = force(x)`."""

    force: Any
    scale: float = float("nan")
    domain = vrba.Box(x=(0, 2))

    def equations(self, u, x):
        return {"force": u.xx - self.force(x)}

    def conditions(self):
        return []


def test_problems_are_told_apart_by_what_their_functions_hold():
    scaled = lambda k: lambda x: k * jax.numpy.sin(x)
    about = {"problem": json.loads(json.dumps(describe_problem(Forced(scaled(1.0)))))}
    check_same_problem(about, Forced(scaled(1.0)), "run")
    with pytest.raises(ValueError, match="with another settings"):
        check_same_problem(about, Forced(scaled(50.0)), "run")
    del about["problem"]["settings"]["force"]["code"]  # as older folders have it
    check_same_problem(about, Forced(scaled(50.0)), "run")


def test_a_problem_that_was_typed_is_told_by_its_code():
    text = """
class Typed(vrba.Problem):
    domain = vrba.Box(x=(0, {end}))
    def equations(self, u, x):
        return {{"decay": u.x {sign} u}}
    def conditions(self):
        return []
"""

    def typed(end, sign):
        names = {"vrba": vrba, "__name__": "typed"}
        exec(text.format(end=end, sign=sign), names)
        return names["Typed"]()

    about = {"problem": describe_problem(typed(1, "+"))}
    check_same_problem(about, typed(1, "+"), "run")
    for other in (typed(2, "+"), typed(1, "-")):
        with pytest.raises(ValueError, match="with another code"):
            check_same_problem(about, other, "run")
    del about["problem"]["code"]  # as older folders have it
    check_same_problem(about, typed(2, "+"), "run")


def test_folder_of_another_run_is_refused(unbroken):
    _, path = unbroken
    with pytest.raises(ValueError, match="already holds a run"):
        run(path)


def test_a_folder_at_work_is_refused(unbroken, tmp_path):
    """Whether a run there is to begin or to go on; after the end it is free."""

    class Intruder(Silent):
        complaints = []

        def on_check(self, entry, seconds_left):
            for start in (run, resume):
                with pytest.raises(ValueError, match="in use by|holds a run") as told:
                    start(tmp_path / "run")
                self.complaints.append(str(told.value))

    whole = run(tmp_path / "run", callback=Intruder())
    assert f"in use by another process ({os.getpid()})" in Intruder.complaints[1]
    assert_as_if_never_stopped(whole, unbroken)
    assert_as_if_never_stopped(resume(tmp_path / "run"), unbroken)
    assert not (tmp_path / "run" / "lock").exists()


def test_two_runs_that_begin_at_once_do_not_share_a_folder(tmp_path):
    path = tmp_path / "run"
    with (
        lock_folder(path),
        pytest.raises(ValueError, match="in use by another process"),
    ):
        run(path)
    assert not path.exists()  # nothing came into it


def test_whether_a_folder_is_at_work(tmp_path):
    """What a killed process has left says nothing, even if its number is in use."""
    assert not is_locked(tmp_path)
    (tmp_path / "lock").write_text(f"{os.getpid()}\n")
    assert not is_locked(tmp_path)
    with lock_folder(tmp_path):
        assert is_locked(tmp_path)
        assert is_locked(tmp_path)  # to have asked leaves nothing behind
    assert not is_locked(tmp_path)


def test_to_ask_does_not_keep_a_run_from_beginning(tmp_path):
    """A moment's shared lock, as `is_locked` has it, is waited for."""
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "lock").touch()
    asking = open(tmp_path / "lock")  # noqa: SIM115
    fcntl.flock(asking, fcntl.LOCK_SH)
    threading.Timer(0.03, asking.close).start()
    with lock_folder(tmp_path):
        assert is_locked(tmp_path)


def test_more_steps_after_the_end(unbroken, tmp_path):
    """A finished run goes on with a recipe that has more steps."""
    run(tmp_path / "run")
    longer = vrba.solve(
        Decay(),
        tiny_recipe(max_steps=26),
        run=tmp_path / "run",
        resume=True,
        callback=Silent(),
    )
    straight = vrba.solve(Decay(), tiny_recipe(max_steps=26), callback=Silent())
    assert is_same(longer, straight)


def test_a_run_that_ended_keeps_its_solution_until_there_is_more(tmp_path, monkeypatch):
    """Its last iterate, which only the end has looked at, is the selected one."""
    ended = run(tmp_path / "run")
    assert ended.result["selected_step"] == 20 != ended.record[-1]["step"]
    longer = {"recipe": tiny_recipe(max_steps=26), "resume": True, "save_every": 0.0}
    with monkeypatch.context() as patch:
        die_at(patch, "advance", lambda state: True)
        with pytest.raises(Killed):
            vrba.solve(Decay(), run=tmp_path / "run", callback=Silent(), **longer)
    found = Solution.load(tmp_path / "run", problem=Decay())
    assert is_same(found, ended)
    for key in ("stop_reason", "errors", "selected_step", "score"):
        assert found.result[key] == ended.result[key]


def test_a_worse_end_does_not_replace_a_better_one(tmp_path, monkeypatch):
    """Not at the end of the resumed run, nor in one that is killed and resumed."""

    def trained(rate, max_steps, **options):
        optimizer = optim.Adam(rate)
        recipe = tiny_recipe(optimizer=optimizer, check_every=4, max_steps=max_steps)
        options |= {"save_every": 0.0, "callback": Silent()}
        return vrba.solve(Decay(), recipe, run=tmp_path / "run", **options)

    ended = trained(0.01, 5)
    assert ended.result["selected_step"] == 5
    with monkeypatch.context() as patch:
        die_at(patch, "advance", lambda state: int(state.num_steps) >= 10)
        with pytest.raises(Killed):
            trained(9.0, 12, resume=True)
    found = Solution.load(tmp_path / "run", problem=Decay())
    assert "stop_reason" not in found.result
    again = trained(9.0, 12, resume=True)
    assert again.result["last_score"] > ended.result["last_score"]
    for one in (found, again):
        assert one.result["selected_step"] == 5
        assert one.result["score"] == ended.result["score"]
        same = jax.tree.map(np.array_equal, one.params, ended.params)
        assert all(jax.tree.leaves(same))


def test_scores_are_kept_while_nothing_else_changes(unbroken, tmp_path, monkeypatch):
    """More steps and the size of blocks do not change what a score says."""
    run(tmp_path / "run")
    monkeypatch.setattr(Checkpointer, "rescore", pytest.fail)
    found = resume(tmp_path / "run", recipe=tiny_recipe(max_steps=23))
    assert found.result["step"] == 23


def test_a_comment_in_the_file_loses_no_solution(tmp_path, monkeypatch):
    """Judged again, by a problem that is described otherwise."""
    ended = run(tmp_path / "run")
    about = RunFolder(tmp_path / "run").read_manifest()
    about["problem"]["source"] = "another"
    RunFolder(tmp_path / "run").write_manifest(about)
    again = resume(tmp_path / "run", allow_change=True)
    assert is_same(again, ended)
    assert again.result["selected_step"] == ended.result["selected_step"]


def test_a_log_without_a_checkpoint_is_a_run(tmp_path):
    path = run(tmp_path / "run").run
    shutil.rmtree(path / "checkpoint")
    with pytest.raises(ValueError, match="already holds a run"):
        run(path)


def test_a_changed_problem_is_selected_by_its_own_scores(tmp_path):
    """However low those of the problem before it were."""
    before = run(tmp_path / "run")
    other = {"problem": Decay(rate=5.0), "allow_change": True}
    recipe = tiny_recipe(max_steps=26)
    options = {
        "run": before.run,
        "recipe": recipe,
        "callback": Silent(),
        "resume": True,
    }
    found = vrba.solve(**options, **other)
    assert found.result["selected_step"] > before.result["step"]
    scores = [entry["score"] for entry in found.record if entry["step"] > 20]
    assert found.result["score"] <= min(scores)
    assert before.result["score"] < found.result["score"]


def test_a_changed_recipe_is_written_down(unbroken, tmp_path):
    run(tmp_path / "run")
    longer = tiny_recipe(max_steps=23, resample_every=5)
    with_more = {"resume": True, "callback": Silent()}
    vrba.solve(Decay(), longer, run=tmp_path / "run", minutes=9, **with_more)
    about = RunFolder(tmp_path / "run").read_manifest()
    assert about["minutes"] == 9 and about["recipe"]["resample_every"] == 5
    again = vrba.solve(Decay(), run=tmp_path / "run", **with_more)
    assert again.recipe.max_steps == 23 and again.result["step"] == 23


def test_a_saved_solution_is_not_resumed(unbroken, tmp_path):
    path = unbroken[0].save(tmp_path / "kept")
    with pytest.raises(ValueError, match="holds a solution, not a run"):
        resume(path)
    assert is_same(Solution.load(path, problem=Decay()), unbroken[0])


def test_a_run_that_has_not_ended_can_be_looked_at(unbroken, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        die_at(patch, "advance", lambda state: int(state.num_steps) >= 9)
        with pytest.raises(Killed):
            run(tmp_path / "run")
    found = Solution.load(tmp_path / "run", problem=Decay())
    assert "residual" in repr(found)
    assert "stop_reason" not in found.result
    assert found.result["step"] == 8 and "checksum" not in found.result
    summary = found.summary()
    assert summary["stop_reason"] is None and "not ended" in summary["message"]


def test_a_run_that_goes_on_has_not_ended(unbroken, tmp_path):
    """From the start on, before a line is logged."""
    path = shutil.copytree(unbroken[1], tmp_path / "run")
    assert RunRecord.read(path).has_ended
    seen = []

    class Look(Silent):
        def on_start(self, plan):
            seen.append(RunRecord.read(path).has_ended)

    resume(path, callback=Look())
    assert seen == [False] and RunRecord.read(path).has_ended
    (path / "lock").write_text(f"{2**31 - 1}\n")  # of a process that was killed
    assert RunRecord.read(path).has_ended


def test_other_policies_terms_and_types_resume(tmp_path, monkeypatch):
    """Weighting, a condition with a policy of its own, balance, float32."""
    edge = vrba.Penalty(weight=3.0, policy=vrba.presets.vrba_weighting())
    problem = Edge(edge)
    recipe = tiny_recipe(
        optimizer=optim.Sequence(
            optim.Stage(optim.Adam(0.01), optim.AfterSteps(5)),
            optim.QuasiNewton(search=optim.Backtracking()),
        ),
        policy=vrba.presets.vrba_weighting(),
        balance=vrba.pinn.GradientNorms(),
        scans_pool=False,
        resample_every=2,
        max_steps=11,
        dtype="float32",
    )
    options = {"callback": Silent(), "save_every": 0.0}
    whole = vrba.solve(problem, recipe, run=tmp_path / "whole", **options)
    weights = [entry["weight edge"] for entry in whole.record]
    assert weights[0] != 3 and len(set(weights)) == len(weights)
    with monkeypatch.context() as patch:
        die_at(patch, "advance", lambda state: int(state.num_steps) >= 7)
        with pytest.raises(Killed):
            vrba.solve(problem, recipe, run=tmp_path / "run", **options)
    found = vrba.solve(problem, run=tmp_path / "run", resume=True, **options)
    assert is_same(found, whole)


DAMAGED = (b"{}", b"[]", b"null", b"\xff", b'{"format_version": 1, "kind": "x"}')


def test_a_damaged_manifest_is_named(tmp_path):
    for content in DAMAGED:
        (tmp_path / "recipe.json").write_bytes(content)
        for read in (Solution.load, vrba.Operator.load, resume):
            with pytest.raises(BrokenFileError, match="recipe.json` is damaged"):
                read(tmp_path)
    manifest = {"format_version": 1, "kind": "solve", "problem": {}}
    (tmp_path / "recipe.json").write_text(json.dumps(manifest))
    with pytest.raises(BrokenFileError, match="it has no `seed`"):
        Solution.load(tmp_path)
    with pytest.raises(ValueError, match="is a run of `vrba solve`"):
        vrba.Operator.load(tmp_path)


def test_a_folder_of_another_format_version_is_refused(unbroken, tmp_path):
    path = shutil.copytree(unbroken[1], tmp_path / "run")
    manifest = json.loads((path / "recipe.json").read_text())
    (path / "recipe.json").write_text(json.dumps(manifest | {"format_version": 0}))
    for read in (RunRecord.read, resume, lambda p: Solution.load(p, problem=Decay())):
        with pytest.raises(ValueError, match="has the format version 0, .* version 1"):
            read(path)


def test_loading_a_solution_draws_no_points(unbroken, monkeypatch):
    whole, counts = Residual.sample, []

    def counting(self, count, *, seed):
        counts.append(count)
        return whole(self, count, seed=seed)

    with monkeypatch.context() as patch:
        patch.setattr(Residual, "sample", counting)
        loaded = Solution.load(unbroken[1], problem=Decay())
    assert max(counts, default=0) <= 1  # one, to find the shape of the residual
    assert is_same(loaded, unbroken[0])
    assert loaded(0.5) == unbroken[0](0.5)


def test_loading_runs_no_code(unbroken, tmp_path):
    _, path = unbroken
    with pytest.raises(ValueError, match="does not come with"):
        Solution.load(path)
    loaded = Solution.load(path, problem=Decay())
    assert is_same(loaded, unbroken[0])
    about = json.loads(RunFolder(path).manifest_file.read_text())
    about["recipe"]["policy"]["class"] = "os.system"
    (tmp_path / "recipe.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="class `os.system`"):
        Solution.load(tmp_path, problem=Decay())
