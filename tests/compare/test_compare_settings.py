"""Settings of a comparison, its warnings, and its share of the machine."""

import dataclasses
import io
import json
import math
import os
from pathlib import Path

import pytest
from rich.console import Console

import vrba
from vrba.compare import (
    ComparisonFolder,
    ProblemCase,
    Settings,
    as_json,
    budget,
    case_of,
    executors,
    folder,
    methods_of,
    tables,
    text_of,
)
from vrba.core import append_line
from vrba.report import Board

summarise = tables.summarise


def test_terminal_shows_the_progress_of_runs(tmp_path):
    settings = Settings("solve", "decay.py", (), ("rad", "rba"), 0, 1, {}, 1)
    progress = executors.Progress(ComparisonFolder(tmp_path / "seen"), settings)
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


def test_settings_reach_every_run(tmp_path):
    flags = {"optimizer": "lbfgs", "points": 9, "minutes": 0.5}
    settings = Settings(
        "solve", "a.py", ("k=1",), ("uniform", "default:cosh"), 7, 2, flags, 1
    )
    words = settings.words("default:cosh", 8, Path("x"))
    text = "solve a.py --param k=1 --policy default --potential cosh --optimizer lbfgs "
    text += "--points 9 --minutes 0.5 --seed 8 --out x "
    assert " ".join(words) == text + "--no-polish --no-continuation --no-slabs"
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


def test_errors_below_that_of_the_reference_are_equal():
    def run(method, seed, error):
        errors = {"selected": error, "last": 1e-2, "of_reference": 1e-5}
        plain = {"residual_l2": 1.0, "step": 1, "seconds": 1.0}
        plain["stop_reason"] = "steps"
        return {"method": method, "seed": seed, "error": errors} | plain

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
    ("steps", "has_warning"), [((10, 12), False), ((2, 12), True), ((0, 0), True)]
)
def test_a_warning_names_unequal_numbers_of_steps(steps, has_warning):
    run = {"method": "rad", "error": None, "seconds": 1.0, "residual_l2": 1.0}
    run |= {"residual": {"selected": 1.0, "last": 1.0}, "stop_reason": "time"}
    runs = [run | {"seed": seed, "step": step} for seed, step in enumerate(steps)]
    settings = Settings("solve", "burgers", (), ("rad",), 0, 2, {"minutes": 1.0}, 1)
    found = summarise(settings.methods, settings.baseline, runs)
    assert bool(found["warnings"]) == has_warning
    text = text_of(found | {"settings": dataclasses.asdict(settings)})
    assert ("`--steps`" in text) == has_warning
    ended = [one | {"stop_reason": "no_descent"} for one in runs]
    assert summarise(settings.methods, settings.baseline, ended)["warnings"] == []


def test_a_warning_names_several_versions():
    one, other = {"vrba": "1", "jax": "1"}, {"vrba": "1", "jax": "2"}
    assert folder.version_warnings([]) == folder.version_warnings([one]) == []
    assert folder.version_warnings([one, other])[0].startswith(
        "2 versions of the program"
    )


def test_an_infinite_ratio_is_written_as_null():
    run = {"error": None, "seconds": 1.0, "residual_l2": 1.0, "step": 3, "seed": 0}
    run["stop_reason"] = "time"
    sizes = {"uniform": 0.0, "rad": math.inf}
    runs = [
        run | {"method": method, "residual": {"selected": size, "last": size}}
        for method, size in sizes.items()
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


def test_free_memory_is_less_than_all():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < budget.free_bytes() < total


def test_policies_may_be_one_text():
    problem = vrba.problems.Burgers()
    case = ProblemCase(problem, vrba.Recipe(max_steps=1))
    listed = methods_of(case, ["uniform", "rad"])
    assert methods_of(case, "uniform, rad") == listed and set(listed) == {
        "uniform",
        "rad",
    }


@pytest.mark.parametrize("steps", [None, 3])
def test_no_method_has_a_linear_stage(steps):
    """It would hide the differences between policies."""
    problem = vrba.problems.Burgers()
    given = vrba.default_recipe(problem, 1)
    case = case_of(problem, given, None, steps)
    assert given.polish is not None
    limited = given.max_steps if steps is None else steps
    alone = {"polish": None, "continuation": None, "time_marching": None}
    assert case.recipe == dataclasses.replace(given, **alone, max_steps=limited)
    found = methods_of(case, ["uniform", "rad"])
    assert [recipe.polish for recipe in found.values()] == [None, None]
    assert case_of(problem, None, 1, steps).recipe.polish is None
