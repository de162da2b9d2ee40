"""Pages and figures of runs that trained operators."""

import io
import json
import re

import numpy as np
import pytest
from cli_cases import call
from operator_cases import (
    ABOUT,
    ENDED,
    make_entry,
    make_errors,
    make_grid_fields,
    make_line_fields,
    make_run,
)
from rich.console import Console
from test_report_page import figures_in

from vrba.compare import write_report
from vrba.core import append_line, floor_of, operator_sentence
from vrba.report import RunRecord, plot_curves, watch
from vrba.report.figures import figures_of

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
    """The same with one function shown."""
    return fields | {k: v[:1] for k, v in fields.items() if k.startswith("shown ")}


def names_of(figures):
    return [one.name for one, _ in figures]


# A run's folder.


def test_run_record_of_an_operator(tmp_path):
    run = RunRecord.read(make_run(tmp_path / "run"))
    assert run.is_operator and (run.name, run.has_ended) == ("Bubble", True)
    assert (run.step, run.seconds) == (900, 19.0)
    assert run.settings["max_steps"] == 900
    assert run.sentence() == operator_sentence("Bubble", run.result)
    assert f"relative L2 error {np.mean(ERRORS):.2e} (selected by" in run.sentence()
    assert f"the worst is {np.max(ERRORS):.2e}" in run.sentence()
    own = ABOUT | {"data": {"shapes": [[4, 2, 1], [4, 3, 1]]}}
    assert RunRecord(tmp_path, own).name == "Operator"
    going = RunRecord.read(make_run(tmp_path / "going", ended=False))
    assert not going.has_ended and "the validation error is" in going.sentence()


def test_some_arrays_are_read_alone(tmp_path):
    path = make_run(tmp_path / "run")
    wanted = ("t", "errors over time", "gone")
    bare = RunRecord.read(path, has_arrays=False)
    assert bare.fields is None and list(bare.arrays(*wanted)) == list(wanted[:2])
    found = RunRecord.read(path).arrays(*wanted)
    for name, values in bare.arrays(*wanted).items():
        np.testing.assert_array_equal(values, found[name])
    assert RunRecord(tmp_path / "none", {}).arrays("t") == {}


def test_what_has_no_own_error_has_no_floor():
    assert floor_of({"selected": 1e-3}) == 0 and floor_of({"of_reference": 2.0}) == 6


# The page.


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    fields_of = lambda errors: first_only(make_line_fields(errors))
    run = make_run(tmp_path_factory.mktemp("page") / "first", fields_of)
    return run, write_report(run).read_text()


def test_page_has_result_accuracy_cost_and_recipe(page):
    run, text = page
    assert figures_in(text) == FIGURES
    for name in FIGURES:
        assert (run / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    for words in (
        "<title>Bubble: first</title>",
        ENDED,
        "No warnings, from 30 entries",
        "memory of the weights</th><td>24 MB",
        "parameters</th><td>4,321",
        "<code>vrba train bubble --minutes 1.5</code>",
        "operator</th><td>OperatorRecipe",
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
    text = write_report(make_run(tmp_path / "run", ended=False)).read_text()
    assert "The run has not ended." in text and figures_in(text) == ["curves"]
    assert "Accuracy" not in text
    (tmp_path / "new").mkdir()
    (tmp_path / "new/recipe.json").write_text(json.dumps(ABOUT))
    code, out, _ = call("report", tmp_path / "new")
    assert code == 0 and out == f"{tmp_path / 'new/report.html'}\n"


@pytest.mark.parametrize(
    ("gone", "figures"),
    [
        (("errors over time",), {"errors-over-time"}),
        (("errors",), {"error-distribution"}),
        (("shown truth",), {"functions"}),
        (("mass", "mean weight"), {"adaptivity"}),
        (("mass",), set()),
    ],
)
def test_absent_arrays_leave_figures_out(tmp_path, gone, figures):
    every = first_only(make_line_fields(ERRORS))
    fields = {k: v for k, v in every.items() if k not in gone}
    run = RunRecord(tmp_path, ABOUT, [make_entry(30), make_entry(60)], fields)
    assert names_of(figures_of(run)) == [f for f in FIGURES if f not in figures]


def test_curves_have_mean_and_largest_validation_error(tmp_path):
    record = [make_entry(30 * k) for k in range(1, 9)]
    run = RunRecord(tmp_path, ABOUT, record)
    ((_, figure),) = figures_of(run)
    error, loss = figure.axes
    assert (error.get_ylabel(), loss.get_ylabel()) == ("validation error", "loss")
    assert [line.get_label() for line in error.lines] == ["mean", "largest"]
    for line, key in zip(error.lines, ("error", "error_max"), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), [one[key] for one in record])
    assert plot_curves(record).axes[0].get_ylabel() == "relative L2 error"


def test_page_has_maps(tmp_path):
    fields_of = lambda errors: first_only(make_grid_fields(errors, worst=1.0))
    text = write_report(make_run(tmp_path / "run", fields_of)).read_text()
    assert figures_in(text) == FIGURES
    for what in ("truth", "prediction", "error"):
        label = f"{what} {np.argmax(ERRORS)}, t = 1, over x and y"
        assert f'aria-label="{label}"' in text


# While it goes on.


def test_watch_shows_the_validation_error(tmp_path):
    run = make_run(tmp_path / "run", ended=False)
    append_line(run / "metrics.jsonl", make_entry(930) | {"error": 1.23e-4})
    console = Console(file=io.StringIO(), width=80, color_system=None)
    watch(run, once=True, console=console)
    text = console.file.getvalue()
    assert "Bubble: step 930" in text and "validation error: 1.23e-04" in text
    assert len(re.findall("└─+┘", text)) == 2  # error and loss
    code, out, _ = call("watch", make_run(tmp_path / "ended"), "--once")
    assert code == 0 and "Ended. " in out


def test_warnings_of_the_log_are_shown(tmp_path):
    run = make_run(tmp_path / "run", ended=False)
    for step in (930, 960, 990):
        entry = make_entry(step) | {"effective_share": 1e-4}
        append_line(run / "metrics.jsonl", entry)
    assert "The weights have collapsed" in write_report(run).read_text()
