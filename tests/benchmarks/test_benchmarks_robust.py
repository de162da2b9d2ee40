"""The runs of problems that were not tuned on: their bookkeeping and their page."""

import json
import subprocess

import numpy as np
import pytest

from benchmarks import robust, robust_page, robust_runs, robust_tables
from benchmarks.polish import problem_of
from benchmarks.robust_sets import DEFAULT, HARD, Kind, sets

PROGRAM = {"commit": "0123456789abc"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(robust, "RUNS", tmp_path)
    return tmp_path


def write_run(folder, error=1e-6):
    """A run folder with what is read from it."""
    errors = {"selected": error, "last": error, "of_reference": 1e-12}
    result = {"errors": errors, "residual_l2": 1e-5, "residual_max": 1e-4}
    result |= {"step": 30, "seconds": 100.0, "stop_reason": "time"}
    result["before_polish"] = {"errors": errors | {"selected": 10 * error}}
    result["polish"] = {"start": {"error": 10 * error}, "step": 30}
    result["marching"] = {"slabs": [{}, {}, {}], "num_tries": 5}
    (folder / "checkpoint").mkdir(parents=True)
    np.savez(folder / "checkpoint" / "best.npz", header=json.dumps(result))
    manifest = {"provenance": PROGRAM, "preparation": {"weights": {"initial": 2.0}}}
    (folder / "recipe.json").write_text(json.dumps(manifest))
    steps = [{"step": k, "seconds": 20.0 + k} for k in (1, 15, 30)]
    lines = [*steps, {"step": 30, "polish_step": 1, "seconds": 99.0}]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return {"problem": "Lorenz", "errors": errors, "status": "solved"}


def runner_of(made, error=1e-6, code=0, words=""):
    """A function that makes a run at once, in place of a process."""

    def run(command, core, max_seconds):
        made.append(command)
        folder = robust.RUNS / command[command.index("--out") + 1].split("/")[-1]
        text = ""
        if not words:
            text = "a line\n" + json.dumps(write_run(folder, error))
        return subprocess.CompletedProcess(command, code, text, words)

    return run


def test_a_run_is_stored_once(home):
    made, case = [], robust.Case(Kind("lorenz"), 2)
    for _ in range(2):
        robust.make(case, 0, runner_of(made))
    assert len(made) == 1
    words = " ".join(made[0])
    assert "--seed 2 --out" in words and "--minutes 2" in words
    assert "--diagnose 0" in words and words.endswith("--json")
    found = json.loads(case.file.read_text())
    assert found["error"] == 1e-6
    assert found["trained_error"] == pytest.approx(1e-5)
    assert found["reference_error"] == 1e-12 and found["status"] == "solved"
    assert found["parts"] == {"marching": {"slabs": [{}, {}, {}], "num_tries": 5}}
    assert found["preparation"] == {"weights": {"initial": 2.0}}
    assert (found["start_seconds"], found["step_seconds"]) == (20.0, 1.0)
    assert found["sentence"].startswith("Lorenz: residual 1.00e-05")
    assert robust_page.parts_text(found) == "marching 3"


def test_flags_of_a_variant_are_given(home):
    made = []
    kind = Kind("lorenz", "no-balance,no-exact-conditions")
    robust.make(robust.Case(kind, 0), 0, runner_of(made))
    assert {"--no-balance", "--no-exact-conditions"} <= set(made[0])


def test_a_result_counts_whatever_the_exit_code(home):
    case = robust.Case(Kind("lorenz"), 0)
    robust.make(case, 0, runner_of([], code=3))
    found = json.loads(case.file.read_text())
    assert (found["exit_code"], found["error"]) == (3, 1e-6)


def test_a_failure_is_stored_with_its_last_words_and_not_repeated(home):
    made, case = [], robust.Case(Kind("lorenz"), 0)
    for _ in range(2):
        robust.make(case, 0, runner_of(made, code=1, words="...\nMemoryError"))
    assert len(made) == 1
    found = json.loads(case.file.read_text())
    assert found["failure"] == "exit code 1: ...\nMemoryError"

    def stuck(command, core, max_seconds):
        raise subprocess.TimeoutExpired(command, max_seconds)

    other = robust.Case(Kind("lorenz"), 1)
    robust.make(other, 0, stuck)
    assert "no end after" in json.loads(other.file.read_text())["failure"]


def test_a_run_that_was_stopped_is_made_anew(home):
    made, case = [], robust.Case(Kind("lorenz"), 0)
    with pytest.raises(SystemExit):
        robust.make(case, 0, runner_of(made, code=130))
    assert not case.file.exists() and case.folder.exists()
    robust.make(case, 0, runner_of(made))
    assert case.file.exists() and len(made) == 2


def test_sets_are_complete():
    found = sets()
    assert [len(found[name]) for name in ("hard", "new")] == [11, 10]
    assert {kind.problem for kind in found["hard"]} == set(HARD)
    for kind in (kind for kinds in found.values() for kind in kinds):
        assert problem_of(kind.problem) is not None
        assert robust.Case(kind, 0).command()[2] == "vrba"
    usual = [kind for kind in found["ablation"] if kind.variant == DEFAULT]
    assert len(usual) == 5 and len(found["ablation"]) == 30


def test_unknown_names_are_refused():
    with pytest.raises(SystemExit, match="No set named easy"):
        robust.main(["--set", "easy"])
    with pytest.raises(SystemExit, match="No problem named burgers"):
        robust.main(["burgers", "--set", "hard"])


# The page.


def stored(problem, error, seed=0, **changes):
    run = {"problem": problem, "variant": DEFAULT, "minutes": 2.0, "seed": seed}
    run |= {"error": error, "trained_error": 2 * error, "reference_error": 1e-12}
    run |= {"estimated_error": error, "status": "solved", "sentence": "It ended."}
    run |= {"seconds": 110.0, "step": 30, "parts": {}, "program": PROGRAM}
    run |= {"start_seconds": 20.0, "step_seconds": 0.2}
    return run | changes


def failed(problem, seed=0, **changes):
    run = {"problem": problem, "variant": DEFAULT, "minutes": 2.0, "seed": seed}
    return run | {"failure": "exit code 1: MemoryError"} | changes


@pytest.mark.parametrize(
    ("errors", "status", "expected"),
    [
        ([1e-6, 1e-7, 0.5], "stalled", "met"),
        ([1e-4, 1e-6, 1e-4], "solved", "**missed**"),
        ([0.5, 0.5, 1e-7], "stalled", "**missed**, failed, reported"),
        ([0.5, 0.5, 1e-7], "solved", "**missed**, **failed silently**"),
        ([0.5, 0.5, 1e-7], None, "**missed**, **failed silently**"),
    ],
)
def test_a_verdict_is_that_of_the_median(errors, status, expected):
    runs = [stored("lorenz", e, k, status=status) for k, e in enumerate(errors)]
    assert robust_page.verdict(Kind("lorenz", target=1e-5), runs) == expected


def test_some_problems_may_report_a_failure_instead():
    kind = Kind("barenblatt", target=1e-3)
    runs = [stored("barenblatt", 5e-3, status="stalled")]
    assert robust_page.verdict(kind, runs) == "failed, reported (allowed)"
    silent = [stored("barenblatt", 5e-3)]
    assert robust_page.verdict(kind, silent) == "**failed silently**"


def test_without_a_target_an_error_of_one_percent_is_a_failure():
    kind = Kind("long-wave")
    assert robust_page.verdict(kind, [stored("long-wave", 9e-3)]) == "solved"
    assert robust_page.verdict(kind, [failed("long-wave")]) == "failed, reported"
    assert "silently" in robust_page.verdict(kind, [stored("long-wave", 0.5)])


def test_no_result_counts_as_the_largest_error():
    runs = [failed("lorenz", 0), failed("lorenz", 1), stored("lorenz", 1e-9, 2)]
    assert robust_runs.median_error(runs) is None
    assert robust_runs.median_error([*runs, stored("lorenz", 1e-8, 3)]) == 1e-8
    text = robust_runs.errors_text(runs, "error")
    assert text == "1.0e-09; 2 of 3 without a result"


@pytest.mark.parametrize(
    ("new", "expected"),
    [([3e-6, 4e-6], "**worse**"), ([1e-6, 4e-6], "alike"), ([1e-8] * 2, "better")],
)
def test_a_shipped_problem_is_worse_beyond_the_range_of_seeds(new, expected):
    before = [stored("kdv", error) for error in (1e-6, 2e-6)]
    runs = [stored("kdv", error, seed) for seed, error in enumerate(new)]
    assert robust_tables.comparison(before, runs, 3.0) == expected
    assert robust_tables.comparison(before[:1], runs[:1], 5.0) != "**worse**"
    assert robust_tables.comparison(before, [failed("kdv")], 3.0) == "**no result**"


def test_page_has_every_stored_run(tmp_path, monkeypatch):
    monkeypatch.setattr(robust_page, "RESULTS", tmp_path / "robust.json")
    monkeypatch.setattr(robust_page, "PAGE", tmp_path / "robust.md")
    wide = stored("lorenz", 1e-3, variant="no-slabs")
    bare = {"variant": "no-balance,no-exact-conditions", "start_seconds": 17.6}
    runs = [
        *(stored("lorenz", error, seed) for seed, error in enumerate((3e-6, 1e-6))),
        *(wide, stored("lorenz", 1.0, **bare | {"step_seconds": 0.16})),
        stored("boundary-layer", 0.9, status="stalled", sentence="NOT SOLVED."),
        *(failed("long-wave"), stored("kdv", 1e-8)),
        stored("inverse-poisson", 0.01, minutes=4.0, parts={"continuation": [1, 2]}),
    ]
    text = json.dumps({str(number): run for number, run in enumerate(runs)})
    robust_page.RESULTS.write_text(text)
    robust_page.write_page()
    page = robust_page.PAGE.read_text()
    assert page == robust_page.page()
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in page.splitlines()]
    cells = {row[0]: row for row in reversed(rows) if row}  # the first of each
    assert cells["boundary-layer"][9] == "**missed**, failed, reported"
    assert "- `boundary-layer`, seed 0: NOT SOLVED." in page
    assert cells["long-wave"][5] == "1 of 1 without a result"
    assert "- `long-wave`, seed 0: exit code 1: MemoryError" in page
    assert cells["inverse-poisson"][9:11] == ["met", "continuation 2"]
    (kdv,) = [row for row in rows if row and row[0] == "kdv"]
    assert kdv[5] == "alike" and "[" in kdv[2]
    lorenz = [row for row in rows if row and row[0] == "lorenz"]
    hard, ablation, cost = lorenz
    assert hard[4:6] == ["1.0e-05", "1.0e-06 [1.0e-06, 3.0e-06]"]
    assert ablation[1] == "3.0e-06" and "1.0e-03 (3.3e+02)" in ablation
    assert cost[4] == "2.0 %" and cost[-1] == "1.25"
    assert "Made by 0123456789." in page


def test_page_without_runs_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(robust_page, "RESULTS", tmp_path / "robust.json")
    robust_page.RESULTS.write_text("{}")
    assert robust_page.page().count("No run is stored yet.") == len(sets())


def test_pace_is_that_of_the_median_step():
    assert robust.pace([])["step_seconds"] is None
    entries = [{"step": k, "seconds": s} for k, s in ((1, 30.0), (2, 30.5), (4, 31.5))]
    found = robust.pace(entries)
    assert found == {"start_seconds": 29.5, "step_seconds": 0.5}
