"""Pages that compare several runs."""

import numpy as np
import pytest

from tests.report import operator_cases
from tests.report.run_cases import MANIFEST, add_collapse, figures_in, make_run
from vrba.compare import (
    ComparisonFolder,
    ComparisonRecord,
    Settings,
    comparison_rows,
    tables,
    write_report,
)
from vrba.core import BrokenFileError, InputError
from vrba.report import format_number, markdown_table
from vrba.runs import RunRecord

DATA = operator_cases.MANIFEST["data"]
RECIPE = operator_cases.MANIFEST["recipe"]
METHODS = ("uniform", "default:exponential")


def make_settings(methods=METHODS, seeds=(3, 4)):
    flags = {"minutes": 2}
    return Settings(
        "solve", "burgers", (), methods, seeds[0], len(seeds), flags, num_threads=1
    )


def make_comparison(path, methods=METHODS, seeds=(3, 4)):
    """The folder of a comparison; each method halves the error; all runs but the last
    have pages."""
    folder = ComparisonFolder(path)
    for k, method in enumerate(methods):
        for seed in seeds:
            run = folder.run_folder(method, seed)
            make_run(run, num_steps=90, seed=seed, size=1e-5 / (k + 1))
            (run / "report.html").write_text("")
    (run / "report.html").unlink()
    settings, failures = make_settings(methods, seeds), {"x": "a < b"}
    folder.write(settings, MANIFEST["problem"], failures)
    return path


def test_page_of_a_comparison(tmp_path):
    folder = make_comparison(tmp_path / "both")
    add_collapse(folder / "uniform" / "seed-4", 9000)
    text = write_report(folder).read_text()
    assert figures_in(text) == ["comparison", "dynamics"]
    for words in (
        "<title>Burgers: comparison</title>",
        '<th scope="row">default:exponential</th><td>2</td><td>5.0e-6</td>',
        "default:exponential: 0.5 times the error of uniform",
        "x: a &lt; b",
        "<li>uniform, seed 4: The weights have collapsed",
        "Stages: fitting from step",
        'href="default-exponential/seed-3/report.html"',
        "default:exponential, seed 4",
        "--policies uniform,default:exponential --seed 3 --seeds 2 --minutes 2",
    ):
        assert words in text, words
    assert 'href="default-exponential/seed-4/report.html"' not in text
    assert (folder / "figures/comparison.png").exists()


def test_runs_that_differ_in_their_seed_are_a_method(tmp_path):
    runs = [
        make_run(
            tmp_path / method / f"seed-{seed}",
            num_steps=90,
            seed=seed,
            size=size,
            diagnosed=False,
            recipe=MANIFEST["recipe"] | {"policy": {"class": method}},
        )
        for method, size in (("one", 1e-5), ("two", 3e-5))
        for seed in (0, 1)
    ]
    text = write_report(runs, tmp_path / "all").read_text()
    assert "two: 3 times the error of one (median of 2 seeds" in text
    assert figures_in(text) == ["comparison"]
    records = [RunRecord.read(run) for run in runs]
    found = ComparisonRecord.of_runs(records)
    assert {m: list(runs) for m, runs in found.runs.items()} == {
        "one": [0, 1],
        "two": [0, 1],
    }
    twice = ComparisonRecord.of_runs([*records[:2], records[0]])
    assert {m: list(runs) for m, runs in twice.runs.items()} == {
        "one": [0, 1],
        "one (2)": [0],
    }


def test_names_of_methods_may_contain_separators_of_markdown(tmp_path):
    folder = make_comparison(tmp_path / "both", ("uniform", "a | b"), (0,))
    text = write_report(folder).read_text()
    assert '<th scope="row">a | b</th><td>1</td>' in text


def test_runs_of_several_problems_have_no_ratio(tmp_path):
    other = MANIFEST["problem"] | {"name": "KdV"}
    runs = [
        make_run(tmp_path / "a", num_steps=60),
        make_run(tmp_path / "b", num_steps=60, problem=other, reference=False),
        make_run(tmp_path / "c", num_steps=60, ended=False),
    ]
    text = write_report(runs, tmp_path / "out").read_text()
    assert "Burgers, KdV: comparison" in text and "times the" not in text
    assert "3 runs, 2 of them ended" in text


def test_several_runs_need_a_folder_for_their_page(tmp_path):
    with pytest.raises(InputError, match="2 runs, got None"):
        write_report([tmp_path, tmp_path])


def test_bad_folders_of_comparisons_are_named(tmp_path):
    for content, error, words in (
        ("{}", InputError, "format version None, this vrba reads version 1"),
        ('{"format_version": 1}', BrokenFileError, "is damaged: 'settings'"),
        ("{", BrokenFileError, "is damaged"),
    ):
        (tmp_path / "comparison.json").write_text(content)
        with pytest.raises(error, match=words):
            write_report(tmp_path)


def test_a_comparison_before_its_first_run(tmp_path):
    folder = ComparisonFolder(tmp_path / "both")
    folder.write(make_settings(), MANIFEST["problem"], {})
    text = write_report(folder.path).read_text()
    assert "No run has ended yet." in text and "No run has begun yet." in text
    assert "No figures: the log is empty." in text


# Operators.


def make_runs(path, methods=("uniform", "quadratic")):
    """Two seeds for each method; each method halves the error."""
    folder = ComparisonFolder(path)
    return [
        operator_cases.make_run(
            folder.run_folder(method, seed),
            seed=seed,
            size=1e-3 / 2**k,
            recipe=RECIPE | {"policy": {"class": method}},
        )
        for k, method in enumerate(methods)
        for seed in (0, 1)
    ]


def test_results_of_operators_are_errors_on_the_test_set():
    make_errors = operator_cases.make_errors
    results = [
        tables.result_of(
            method, seed, operator_cases.make_result(make_errors(seed=seed, size=size))
        )
        for method, size in (("uniform", 1e-3), ("quadratic", 5e-4))
        for seed in (0, 1, 2)
    ]
    found = tables.summarise(["uniform", "quadratic"], "uniform", results)
    assert found["measure"].startswith("relative L2 error on the test set")
    assert found["against_baseline"]["quadratic"]["median"] == pytest.approx(0.5)
    assert found["floor"] == 0 and "validation" in results[0]
    heads, uniform, _ = found["rows"]
    columns = ["error, selected", "error, last", "95th percentile", "maximum"]
    assert heads == ["method", "seeds", *columns, "steps", "seconds"]
    p95 = [np.percentile(make_errors(seed=seed), 95) for seed in (0, 1, 2)]
    spread = found["methods"]["uniform"]["p95"]
    assert spread["median"] == pytest.approx(np.median(p95))
    assert format_number(float(np.median(p95))) in uniform[4]
    assert "residual" not in markdown_table(found["rows"])
    assert "none" in comparison_rows({"uniform": []}, "error")[1]


def test_page_of_operators_that_are_compared(tmp_path):
    make_runs(tmp_path / "both")
    methods, flags = ("uniform", "quadratic"), {"minutes": 2}
    settings = Settings("train", "bubble", (), methods, 0, 2, flags, num_threads=1)
    ComparisonFolder(tmp_path / "both").write(settings, {"name": "Bubble"}, {})
    text = write_report(tmp_path / "both").read_text()
    assert figures_in(text) == ["comparison", "errors", "errors-over-time"]
    assert "<title>Bubble: comparison</title>" in text
    assert 'aria-label="validation error against steps"' in text
    assert "The measure is the relative L2 error on the test set" in text
    assert "quadratic: 0.5 times the error of uniform (median of 2 seeds" in text
    found = ComparisonRecord.read(tmp_path / "both")
    assert (found.measure, found.label) == ("error", "validation error")


def test_runs_of_operators_are_grouped_by_recipe_and_data(tmp_path):
    make_run = operator_cases.make_run
    runs = [RunRecord.read(run) for run in make_runs(tmp_path)]
    found = ComparisonRecord.of_runs(runs)
    assert {m: list(runs) for m, runs in found.runs.items()} == {
        "uniform": [0, 1],
        "quadratic": [0, 1],
    }
    assert found.name == "Bubble" and len(found.content["sentences"]) == 1
    other = make_run(tmp_path / "other", data=DATA | {"moments": [[7.0]]})
    mixed = ComparisonRecord.of_runs([*runs, RunRecord.read(other)])
    assert list(mixed.runs) == ["uniform", "quadratic", "other"]
    assert mixed.content["sentences"] == []
    assert "had different data" in mixed.content["warnings"][0]
    wave = make_run(tmp_path / "wave", data={"name": "wave"})
    several = ComparisonRecord.of_runs([*runs, RunRecord.read(wave)])
    assert several.name == "Bubble, Wave" and several.content["sentences"] == []
    longer = make_run(tmp_path / "longer", recipe=RECIPE | {"max_steps": 9})
    unequal = ComparisonRecord.of_runs([*runs, RunRecord.read(longer)])
    assert unequal.content["warnings"] == [
        "The runs had different budgets: no conclusion."
    ]


def test_operators_are_not_compared_with_solutions(tmp_path):
    problem = make_run(tmp_path / "problem", num_steps=30, diagnosed=False)
    runs = [operator_cases.make_run(tmp_path / "operator"), problem]
    with pytest.raises(InputError, match="some solve a problem"):
        write_report(runs, tmp_path / "out")
