"""Pages of runs that train operators."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from tests.report.operator_cases import (
    ENDED,
    MANIFEST,
    make_entry,
    make_errors,
    make_grid_fields,
    make_line_fields,
    make_run,
)
from tests.report.run_cases import figures_in
from vrba.core import append_line
from vrba.report import figures_of, plot_curves, watch, write_run_report
from vrba.runs import RunFolder, RunRecord

ERRORS = make_errors()
LEVELS = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
FIGURES = [
    "functions",
    "error-distribution",
    "errors-over-time",
    "curves",
    "adaptivity",
]


def first_only(fields):
    """The same fields with one function."""
    return fields | {k: v[:1] for k, v in fields.items() if k.startswith("example ")}


def names_of(figures):
    return [one.name for one, _ in figures]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    fields_of = lambda errors: first_only(make_line_fields(errors))
    run = make_run(tmp_path_factory.mktemp("page") / "first", fields_of)
    return run, write_run_report(run).read_text()


def test_page_has_result_accuracy_cost_and_recipe(page):
    run, text = page
    assert figures_in(text) == FIGURES
    for name in FIGURES:
        assert (run / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    for words in (
        "<title>Bubble: first</title>",
        ENDED,
        "No warnings in 30 log entries",
        "memory of the weights</th><td>24 MB",
        "parameters</th><td>4,321",
        "<code>vrba train bubble --minutes 1.5</code>",
        "recipe</th><td>OperatorRecipe",
        "shapes</th><td>[400, 20, 1], [400, 50, 1]",
    ):
        assert words in text, words
    assert "residual on held-out points" not in text
    levels = [np.mean(ERRORS), *np.percentile(ERRORS, list(LEVELS.values()))]
    row = "".join(f"<td>{level:.3g}</td>" for level in levels)
    assert f"test set, selected</th>{row}" in text
    assert f"test set, last</th><td>{1.2 * np.mean(ERRORS):.3g}</td>" in text
    assert f"validation set, selected</th><td>{1.1 * np.mean(ERRORS):.3g}</td>" in text


def test_page_of_a_run_that_goes_on_and_of_one_that_begins(tmp_path):
    text = write_run_report(make_run(tmp_path / "run", ended=False)).read_text()
    assert "The run has not ended." in text and figures_in(text) == ["curves"]
    assert "Accuracy" not in text
    RunFolder(tmp_path / "new").write_manifest(MANIFEST)
    assert "nothing was logged yet" in write_run_report(tmp_path / "new").read_text()


@pytest.mark.parametrize(
    ("gone", "figures"),
    [
        (("errors over time",), {"errors-over-time"}),
        (("errors",), {"error-distribution"}),
        (("example truth",), {"functions"}),
        (("mass", "mean weight"), {"adaptivity"}),
        (("mass",), set()),
    ],
)
def test_absent_arrays_leave_figures_out(tmp_path, gone, figures):
    every = first_only(make_line_fields(ERRORS))
    fields = {k: v for k, v in every.items() if k not in gone}
    run = RunRecord(tmp_path, MANIFEST, [make_entry(30), make_entry(60)], fields)
    assert names_of(figures_of(run)) == [f for f in FIGURES if f not in figures]


def test_curves_have_mean_and_largest_validation_error(tmp_path):
    record = [make_entry(30 * k) for k in range(1, 9)]
    run = RunRecord(tmp_path, MANIFEST, record)
    ((_, figure),) = figures_of(run)
    error, loss = figure.axes
    assert (error.get_ylabel(), loss.get_ylabel()) == ("validation error", "loss")
    assert [line.get_label() for line in error.lines] == ["mean", "largest"]
    for line, key in zip(error.lines, ("error", "error_max"), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), [one[key] for one in record])
    assert plot_curves(record).axes[0].get_ylabel() == "relative L2 error"


def test_page_has_maps(tmp_path):
    fields_of = lambda errors: first_only(make_grid_fields(errors, worst=1.0))
    text = write_run_report(make_run(tmp_path / "run", fields_of)).read_text()
    assert figures_in(text) == FIGURES
    for what in ("truth", "prediction", "error"):
        label = f"{what} {np.argmax(ERRORS)}, t = 1, over x and y"
        assert f'aria-label="{label}"' in text


def test_watch_shows_the_validation_error(tmp_path):
    run = make_run(tmp_path / "run", ended=False)
    append_line(run / "metrics.jsonl", make_entry(930) | {"error": 1.23e-4})
    console = Console(file=io.StringIO(), width=80, color_system=None)
    watch(run, once=True, console=console)
    text = console.file.getvalue()
    assert "Bubble: step 930" in text and "validation error: 1.23e-04" in text
    assert len(re.findall("└─+┘", text)) == 2  # error and loss
    watch(make_run(tmp_path / "ended"), once=True, console=console)
    assert "Ended. " in console.file.getvalue()


def test_warnings_of_the_log_are_shown(tmp_path):
    run = make_run(tmp_path / "run", ended=False)
    for step in (930, 960, 990):
        entry = make_entry(step) | {"effective_share": 1e-4}
        append_line(run / "metrics.jsonl", entry)
    assert "The weights have collapsed" in write_run_report(run).read_text()
