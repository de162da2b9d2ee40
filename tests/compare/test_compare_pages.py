"""Pages of comparisons, and of several runs."""

import re

import numpy as np
import operator_cases
import pytest
from run_cases import ABOUT, add_collapse, make_run

from tests.compare.cases import call
from vrba.compare import (
    ComparisonFolder,
    ComparisonRecord,
    Settings,
    as_json,
    comparison_rows,
    content_of,
    write_report,
)
from vrba.compare.tables import result_of, summarise
from vrba.report import RunRecord, format_number


def figures_in(text):
    return re.findall(r'<figure id="figure-([\w-]+)">', text)


def write_comparison(path, methods, first_seed, num_seeds, problem, command, **flags):
    """`comparison.json` of the runs in a folder."""
    folder = ComparisonFolder(path)
    target = {"solve": "burgers", "train": "bubble"}[command]
    settings = Settings(command, target, (), methods, first_seed, num_seeds, flags, 1)
    results = [
        result_of(*run, RunRecord.read(folder.run_folder(*run)).result)
        for run in settings.runs()
    ]
    content = content_of(settings, problem, [], results, {"x": "a < b"})
    folder.file.write_text(as_json(content))
    return content


# Problems.


def make_comparison(path, methods=("uniform", "default:exponential"), seeds=(3, 4)):
    """The folder of a comparison; of the last run there is no page."""
    folder = ComparisonFolder(path)
    for k, method in enumerate(methods):
        for seed in seeds:
            run, size = folder.run_folder(method, seed), 1e-5 / (k + 1)
            make_run(run, num_steps=90, seed=seed, size=size)
            (run / "report.html").write_text("")
    (run / "report.html").unlink()
    about = (ABOUT["problem"], "solve")
    write_comparison(path, methods, seeds[0], len(seeds), *about, minutes=2)
    return path


def test_page_of_a_comparison(tmp_path):
    folder = make_comparison(tmp_path / "both")
    add_collapse(folder / "uniform" / "seed-4", 9000)
    code, out, _ = call("report", folder)
    assert code == 0 and out == f"{folder / 'report.html'}\n"
    text = (folder / "report.html").read_text()
    assert figures_in(text) == ["comparison", "dynamics"]
    assert '<th scope="row">default:exponential</th><td>2</td><td>5.0e-6</td>' in text
    assert "default:exponential: 0.5 times the error of uniform" in text
    assert "x: a &lt; b" in text
    assert "<li>uniform, seed 4: The weights have collapsed" in text
    assert "Stages: fitting from step" in text
    assert 'href="default-exponential/seed-3/report.html"' in text
    assert 'href="default-exponential/seed-4/report.html"' not in text
    assert "default:exponential, seed 4" in text
    again = "--policies uniform,default:exponential --seed 3 --seeds 2 --minutes 2"
    assert again in text
    assert (folder / "figures/comparison.png").exists()


def test_cells_of_the_page_may_hold_what_markdown_separates(tmp_path):
    """The page renders rows, and no text that was rendered before."""
    folder = make_comparison(tmp_path / "both", ("uniform", "a | b"), (0,))
    text = write_report(folder).read_text()
    assert '<th scope="row">a | b</th><td>1</td>' in text


def test_runs_that_differ_in_their_seed_are_a_method(tmp_path):
    runs = [
        make_run(
            tmp_path / method / f"seed-{seed}",
            num_steps=90,
            seed=seed,
            size=size,
            diagnosed=False,
            recipe={"policy": method},
        )
        for method, size in (("one", 1e-5), ("two", 3e-5))
        for seed in (0, 1)
    ]
    code, _, err = call("report", *runs)
    assert code == 2 and "--out DIR" in err
    code, out, _ = call("report", *runs, "--out", tmp_path / "all")
    text = (tmp_path / "all/report.html").read_text()
    assert code == 0 and out == f"{tmp_path / 'all/report.html'}\n"
    assert "two: 3 times the error of one (median of 2 seeds" in text
    assert figures_in(text) == ["comparison"]
    records = [RunRecord.read(run) for run in runs]
    found = ComparisonRecord.of_runs(records)
    assert {k: list(runs) for k, runs in found.runs.items()} == {
        "one": [0, 1],
        "two": [0, 1],
    }
    again = ComparisonRecord.of_runs([*records[:2], records[0]])
    assert {k: list(runs) for k, runs in again.runs.items()} == {
        "one": [0, 1],
        "one (2)": [0],
    }


def test_runs_of_several_problems_have_no_ratio(tmp_path):
    other = ABOUT["problem"] | {"name": "KdV"}
    runs = [
        make_run(tmp_path / "a", num_steps=60),
        make_run(tmp_path / "b", num_steps=60, problem=other, reference=False),
        make_run(tmp_path / "c", num_steps=60, ended=False),
    ]
    text = write_report(runs, tmp_path / "out").read_text()
    assert "Burgers, KdV: comparison" in text and "times the" not in text
    assert "3 runs, 2 of them ended" in text


def test_several_runs_need_a_folder(tmp_path):
    with pytest.raises(ValueError, match="2 runs, got None"):
        write_report([tmp_path, tmp_path])
    (tmp_path / "comparison.json").write_text('{"format_version": 1}')
    with pytest.raises(ValueError, match="is damaged: 'settings'"):
        write_report(tmp_path)


def test_page_before_the_first_run(tmp_path):
    settings = Settings("solve", "burgers", (), ("uniform",), 0, 1, {}, 1)
    ComparisonFolder(tmp_path).write(settings, ABOUT["problem"], {})
    text = write_report(tmp_path).read_text()
    assert "No run has ended yet." in text and "No run has begun yet." in text


# Operators.


def make_methods(path, methods=("uniform", "default")):
    """Two seeds for each method; every method halves the error."""
    recipe = operator_cases.ABOUT["operator"]
    return [
        operator_cases.make_run(
            ComparisonFolder(path).run_folder(method, seed),
            seed=seed,
            size=1e-3 / 2**k,
            operator=recipe | {"policy": {"class": method}},
        )
        for k, method in enumerate(methods)
        for seed in (0, 1)
    ]


def test_results_of_operators_are_errors_on_the_test_set():
    errors = operator_cases.make_errors
    results = [
        result_of(
            method, seed, operator_cases.make_result(errors(seed=seed, size=size))
        )
        for method, size in (("uniform", 1e-3), ("default", 5e-4))
        for seed in (0, 1, 2)
    ]
    found = summarise(["uniform", "default"], "uniform", results)
    assert found["measure"].startswith("relative L2 error on the test set")
    assert found["against_baseline"]["default"]["median"] == pytest.approx(0.5)
    assert found["floor"] == 0 and "validation" in results[0]
    heads, uniform, _ = found["rows"]
    names = ["error, selected", "error, last", "95th percentile", "maximum"]
    assert heads[2:] == [*names, "steps", "seconds"]
    p95 = [np.percentile(errors(seed=seed), 95) for seed in (0, 1, 2)]
    spread = found["methods"]["uniform"]["p95"]
    assert spread["median"] == pytest.approx(np.median(p95))
    assert uniform[4].startswith(format_number(float(np.median(p95))))
    assert "none" in comparison_rows({"uniform": []}, "error")[1]


def test_page_of_operators_that_are_compared(tmp_path):
    methods = ("uniform", "default")
    make_methods(tmp_path / "both", methods)
    about = ({"name": "Bubble"}, "train")
    write_comparison(tmp_path / "both", methods, 0, 2, *about, minutes=2)
    text = write_report(tmp_path / "both").read_text()
    assert figures_in(text) == ["comparison", "errors", "errors-over-time"]
    assert "<title>Bubble: comparison</title>" in text
    assert 'aria-label="validation error against steps"' in text
    assert "The measure is the relative L2 error on the test set" in text
    assert "default: 0.5 times the error of uniform (median of 2 seeds" in text
    found = ComparisonRecord.read(tmp_path / "both")
    assert (found.measure, found.label) == ("error", "validation error")


def test_runs_of_operators_are_grouped_by_recipe_and_data(tmp_path):
    make, about = operator_cases.make_run, operator_cases.ABOUT
    runs = [RunRecord.read(run) for run in make_methods(tmp_path)]
    found = ComparisonRecord.of_runs(runs)
    assert {k: len(part) for k, part in found.runs.items()} == {
        "uniform": 2,
        "default": 2,
    }
    assert found.name == "Bubble" and len(found.content["sentences"]) == 1
    other = make(tmp_path / "other", data=about["data"] | {"moments": [[7.0]]})
    mixed = ComparisonRecord.of_runs([*runs, RunRecord.read(other)])
    assert list(mixed.runs) == ["uniform", "default", "other"]
    assert mixed.content["sentences"] == []
    assert "had different data" in mixed.content["warnings"][0]
    wave = make(tmp_path / "wave", data={"name": "wave"})
    several = ComparisonRecord.of_runs([*runs, RunRecord.read(wave)])
    assert several.name == "Bubble, Wave" and several.content["sentences"] == []
    longer = make(tmp_path / "longer", operator=about["operator"] | {"max_steps": 9})
    unequal = ComparisonRecord.of_runs([*runs, RunRecord.read(longer)])
    assert unequal.content["warnings"] == [
        "The runs had different budgets: no conclusion."
    ]


def test_operators_are_not_compared_with_solutions(tmp_path):
    problem = make_run(tmp_path / "problem", num_steps=30, diagnosed=False)
    runs = [operator_cases.make_run(tmp_path / "operator"), problem]
    with pytest.raises(ValueError, match="some solve a problem"):
        write_report(runs, tmp_path / "out")
