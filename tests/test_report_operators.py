"""Pages and figures of runs that trained operators."""

import io
import json
import re

import matplotlib.colors
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
    make_result,
    make_run,
    make_scattered_fields,
)
from rich.console import Console
from run_cases import make_run as make_problem_run
from test_report_page import figures_in

from vrba.core import append_line, floor_of, operator_sentence
from vrba.report import (
    ComparisonRecord,
    RunRecord,
    comparison_table,
    plot_adaptivity,
    plot_arms_errors,
    plot_arms_over_time,
    plot_curves,
    plot_error_distribution,
    plot_errors_over_time,
    plot_functions,
    watch,
    write_report,
)
from vrba.report.figures import figures_of
from vrba.report.figures._functions import cuts_of, output_axes
from vrba.report.summary import result_of, run_of, summarise
from vrba.report.tables import short

ERRORS = make_errors()
LEVELS = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
FIGURES = [
    "functions",
    "error-distribution",
    "errors-over-time",
    "curves",
    "adaptivity",
]


def panels(figure):
    """The panels by title; scales beside them have none."""
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


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
    run = make_run(tmp_path_factory.mktemp("page") / "first")
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
    fields_of = lambda errors: first_only(make_grid_fields(errors))
    text = write_report(make_run(tmp_path / "run", fields_of)).read_text()
    assert figures_in(text) == FIGURES
    for what in ("truth", "prediction", "error"):
        label = f"{what} {np.argmax(ERRORS)}, t = 0.3, over x and y"
        assert f'aria-label="{label}"' in text


# Functions.


def test_functions_over_one_coordinate_are_lines():
    fields = make_line_fields(ERRORS)
    found = panels(plot_functions(fields))
    ids = fields["shown ids"][[0, 3, 4]]
    heads = [f"input {one}: error {short(float(ERRORS[one]))}" for one in ids]
    expected = [
        title
        for one, head in zip(ids, heads, strict=True)
        for title in (head, f"output {one}", f"error {one}")
    ]
    assert list(found) == expected and ids[0] == np.argmax(ERRORS)
    output, error = found[f"output {ids[1]}"], found[f"error {ids[1]}"]
    prediction, truth = (line.get_ydata() for line in output.lines)
    np.testing.assert_array_equal(prediction, fields["shown outputs"][3, :, 0])
    np.testing.assert_array_equal(truth, fields["shown truth"][3, :, 0])
    assert output.lines[0].get_linestyle() != output.lines[1].get_linestyle()
    assert error.get_yscale() == "log" and error.get_xlabel() == "t"
    assert max(error.lines[0].get_ydata()) == pytest.approx(
        np.max(np.abs(prediction - truth))
    )


def test_the_worst_channel_is_shown():
    fields = make_line_fields(ERRORS, channels=3)
    fields["shown outputs"][..., 1] = fields["shown truth"][..., 1]
    one = fields["shown ids"][0]
    found = panels(plot_functions(fields))[f"output {one}, channel 3"]
    truth = fields["shown truth"][0, :, 2]
    np.testing.assert_array_equal(found.lines[1].get_ydata(), truth)


@pytest.mark.parametrize("names", [("t", "x", "y"), ("x", "y", "t")])
def test_time_is_cut_at_its_end_and_where_the_error_is_largest(names):
    fields = make_grid_fields(ERRORS, names=names)
    found = panels(plot_functions(fields))
    one = fields["shown ids"][0]
    expected = [
        f"{what} {k}, t = {time}"
        for k in fields["shown ids"][[0, 3, 4]]
        for time in ("1", "0.3")
        for what in ("truth", "prediction", "error")
    ]
    assert list(found)[3:] == expected
    place = [3 if name == "t" else slice(None) for name in names]
    truth = fields["shown truth"][(0, *place, 0)]
    axes = found[f"truth {one}, t = 0.3"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    shown = axes.collections[0]
    np.testing.assert_array_equal(
        np.asarray(shown.get_array()).ravel(), truth.T.ravel()
    )
    prediction = found[f"prediction {one}, t = 0.3"].collections[0]
    assert (shown.norm.vmin, shown.norm.vmax) == (truth.min(), truth.max())
    assert (prediction.norm.vmin, prediction.norm.vmax) == (truth.min(), truth.max())
    error = found[f"error {one}, t = 0.3"].collections[0]
    assert isinstance(error.norm, matplotlib.colors.LogNorm)
    gap = fields["shown outputs"][(0, *place, 0)] - truth
    assert error.norm.vmax == pytest.approx(np.max(np.abs(gap)))


def test_what_is_cut_depends_on_the_coordinates():
    fields = make_grid_fields(ERRORS)
    error = np.ones((24, 20, 11))
    assert [cut.place for cut in cuts_of(fields, error)] == ["t = 1", "t = 0"]
    (cut,) = cuts_of(fields, error * fields["t"])  # both times are one
    assert cut.place == "t = 1" and list(cut.axes) == ["x", "y"]
    assert error[cut.ids].shape == (24, 20)
    solid = fields | {"coordinates": np.array(["t", "z", "x", "y"]), "z": fields["t"]}
    places = [cut.place for cut in cuts_of(solid, np.ones((11, 11, 24, 20)))]
    assert places == ["t = 1, z = 0.5", "t = 0, z = 0.5"]
    for names in (["x", "t"], ["x", "y"]):  # all of it
        (cut,) = cuts_of(fields | {"coordinates": np.array(names)}, error)
        assert list(cut.axes) == names and cut.place == ""


def test_functions_at_scattered_points_are_dots():
    fields = make_scattered_fields(ERRORS)
    found = panels(plot_functions(fields))
    one = fields["shown ids"][0]
    dots = found[f"truth {one}"].collections[0]
    np.testing.assert_allclose(dots.get_offsets(), fields["places"])
    np.testing.assert_array_equal(dots.get_array(), fields["shown truth"][0, :, 0])
    numbers = next(iter(found.values())).lines[0]
    np.testing.assert_array_equal(numbers.get_ydata(), fields["shown inputs"][0])
    line = make_scattered_fields(ERRORS, dim=1)
    axes = panels(plot_functions(line))[f"output {one}"]
    assert np.all(np.diff(axes.lines[0].get_xdata()) > 0)  # in order
    del fields["coordinates"]
    assert list(output_axes(fields)) == ["x1", "x2"]


@pytest.mark.parametrize("number", [1, 2])
def test_few_functions_can_be_shown(number):
    fields = make_line_fields(ERRORS)
    fields |= {k: v[:number] for k, v in fields.items() if k.startswith("shown ")}
    assert len(panels(plot_functions(fields))) == 3 * number
    assert plot_functions(fields | {"shown ids": np.array([], int)}) is None


# Errors and adaptivity.


def test_errors_over_time_have_four_lines():
    fields = make_grid_fields(ERRORS)
    (axes,) = plot_errors_over_time(fields).axes
    assert axes.get_yscale() == "log" and axes.get_xlabel() == "t"
    assert [line.get_label() for line in axes.lines] == [
        "mean",
        "half below",
        "95 % below",
        "largest",
    ]
    for line, values in zip(axes.lines, fields["errors over time"].T, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), fields["t"])
        np.testing.assert_array_equal(line.get_ydata(), values)
    looks = {(line.get_linestyle(), line.get_marker()) for line in axes.lines}
    assert len(looks) == 4  # without colour as well


def test_distribution_marks_percentiles():
    counts, tail = plot_error_distribution({"errors": ERRORS}).axes
    assert sum(patch.get_height() for patch in counts.patches) == len(ERRORS)
    assert (tail.get_xscale(), tail.get_yscale()) == ("log", "log")
    curve, *marks = tail.lines
    for error, share in zip(*curve.get_data(), strict=True):
        assert share == pytest.approx(np.mean(error <= ERRORS))
    found = [mark.get_xdata()[0] for mark in marks]
    np.testing.assert_allclose(found, np.percentile(ERRORS, list(LEVELS.values())))
    assert marks[-1].get_label() == f"largest: {short(float(np.max(ERRORS)))}"


def test_errors_without_a_logarithm_are_left_out():
    errors = np.array([0.0, 1e-3, np.nan, np.inf])
    counts, tail = plot_error_distribution({"errors": errors}).axes
    assert sum(patch.get_height() for patch in counts.patches) == 1
    np.testing.assert_array_equal(tail.lines[0].get_xdata(), [1e-3])
    assert plot_error_distribution({"errors": np.zeros(3)}) is None
    for plot in (plot_functions, plot_errors_over_time, plot_adaptivity):
        assert plot(None) is None and plot({}) is None


def test_mass_is_in_order_and_weights_are_over_the_grid():
    fields = make_line_fields(ERRORS)
    mass, weight = plot_adaptivity(fields).axes
    line = mass.lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(fields["mass"])[::-1])
    assert line.get_xdata()[-1] == 100 and mass.get_yscale() == "log"
    np.testing.assert_array_equal(weight.lines[0].get_ydata(), fields["mean weight"])
    assert weight.get_xlabel() == "t"


@pytest.mark.parametrize("names", [("t", "x", "y"), ("x", "y", "t")])
def test_weights_over_more_coordinates_are_averaged(names):
    fields = make_grid_fields(ERRORS, names=names)
    figure = plot_adaptivity(fields)
    weight = fields["mean weight"]
    axes = panels(figure)["mean weight, mean over t"]
    time = names.index("t")
    shown = np.asarray(axes.collections[0].get_array()).ravel()
    np.testing.assert_allclose(shown, np.mean(weight, axis=time).T.ravel())
    over_time = figure.axes[2].lines[0].get_ydata()
    others = tuple(k for k in range(3) if k != time)
    np.testing.assert_allclose(over_time, np.mean(weight, axis=others))
    split = fields | {"mean weight": np.mean(weight, axis=time)}  # a sample is a time
    assert "mean weight" in panels(plot_adaptivity(split))


def test_weights_of_scattered_points_are_dots():
    fields = make_scattered_fields(ERRORS)
    weight, _ = plot_adaptivity(fields).axes
    np.testing.assert_array_equal(
        weight.collections[0].get_array(), fields["mean weight"]
    )


# Several runs.


def make_arms(path, fields_of=make_line_fields, arms=("uniform", "vrba")):
    """Two seeds for each arm; every arm halves the error."""
    return [
        make_run(
            run_of(path, arm, seed),
            fields_of,
            seed=seed,
            size=1e-3 / 2**k,
            operator=ABOUT["operator"] | {"policy": {"class": arm}},
        )
        for k, arm in enumerate(arms)
        for seed in (0, 1)
    ]


def test_results_of_operators_are_errors_on_the_test_set():
    results = [
        result_of(arm, seed, make_result(make_errors(seed=seed, size=size)))
        for arm, size in (("uniform", 1e-3), ("vrba", 5e-4))
        for seed in (0, 1, 2)
    ]
    found = summarise(["uniform", "vrba"], "uniform", results)
    assert found["measure"].startswith("relative L2 error on the test set")
    assert found["against_baseline"]["vrba"]["median"] == pytest.approx(0.5)
    assert found["floor"] == 0 and "validation" in results[0]
    heads = [cell.strip() for cell in found["table"].splitlines()[0].split("|")[1:-1]]
    assert heads[2:] == ["error, selected", "error, last", "95 % below", "largest"] + [
        "steps",
        "seconds",
    ]
    p95 = [np.percentile(make_errors(seed=seed), 95) for seed in (0, 1, 2)]
    spread = found["arms"]["uniform"]["p95"]
    assert spread["median"] == pytest.approx(np.median(p95))
    assert short(float(np.median(p95))) in found["table"].splitlines()[2]
    assert "residual" not in found["table"]
    assert "none" in comparison_table({"uniform": []}, "error")


def test_page_of_operators_that_are_compared(tmp_path):
    make_arms(tmp_path / "both")
    arms = ("uniform", "vrba")
    settings = {"command": "train", "target": "bubble", "set": [], "arms": list(arms)}
    settings |= {"first_seed": 0, "num_seeds": 2, "flags": {"minutes": 2}}
    headers = {
        run: RunRecord.read(run_of(tmp_path / "both", *run)).result
        for run in [(arm, seed) for arm in arms for seed in (0, 1)]
    }
    results = [result_of(*run, header) for run, header in headers.items()]
    content = {"settings": settings, "problem": {"name": "Bubble"}}
    content |= summarise(arms, "uniform", results)
    (tmp_path / "both/comparison.json").write_text(json.dumps(content))
    text = write_report(tmp_path / "both").read_text()
    assert figures_in(text) == ["comparison", "arms-errors", "arms-over-time"]
    assert "<title>Bubble: comparison</title>" in text
    assert 'aria-label="validation error against steps"' in text
    assert "Compared is the relative L2 error on the test set" in text
    assert "vrba: 0.5 times the error of uniform (median of 2 seeds" in text
    found = ComparisonRecord.read(tmp_path / "both")
    assert (found.measure, found.label) == ("error", "validation error")


def test_runs_of_operators_are_grouped_by_recipe_and_data(tmp_path):
    runs = [RunRecord.read(run) for run in make_arms(tmp_path)]
    found = ComparisonRecord.of_runs(runs)
    assert {arm: len(part) for arm, part in found.arms.items()} == {
        "uniform": 2,
        "vrba": 2,
    }
    assert found.name == "Bubble" and len(found.content["sentences"]) == 1
    other = make_run(tmp_path / "other", data=ABOUT["data"] | {"moments": [[7.0]]})
    mixed = ComparisonRecord.of_runs([*runs, RunRecord.read(other)])
    assert list(mixed.arms) == ["uniform", "vrba", "other"]
    assert mixed.content["sentences"] == []
    assert "had different data" in mixed.content["warnings"][0]
    wave = make_run(tmp_path / "wave", data={"name": "wave"})
    several = ComparisonRecord.of_runs([*runs, RunRecord.read(wave)])
    assert several.name == "Bubble, Wave" and several.content["sentences"] == []
    more = ABOUT["operator"] | {"max_steps": 9}
    longer = make_run(tmp_path / "longer", operator=more)
    unequal = ComparisonRecord.of_runs([*runs, RunRecord.read(longer)])
    assert unequal.content["warnings"] == [
        "The runs had different budgets: nothing follows."
    ]


def test_operators_are_not_compared_with_solutions(tmp_path):
    problem = make_problem_run(tmp_path / "problem", num_steps=30, diagnosed=False)
    runs = [make_run(tmp_path / "operator"), problem]
    with pytest.raises(ValueError, match="some solve a problem"):
        write_report(runs, tmp_path / "out")


def test_arms_show_medians_over_seeds():
    both = [make_result(make_errors(seed=seed))["errors"] for seed in (0, 1, 2)]
    (axes,) = plot_arms_errors({"uniform": both, "vrba": both[:1], "rad": []}).axes
    assert [line.get_label() for line in axes.lines] == ["uniform", "vrba"]
    levels = [[one[key] for key in LEVELS] for one in both]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.median(levels, axis=0))
    ends = [part[:, 1] for part in axes.collections[0].get_segments()]
    expected = np.stack([np.min(levels, axis=0), np.max(levels, axis=0)], axis=1)
    np.testing.assert_allclose(ends, expected)
    assert plot_arms_errors({"uniform": [], "vrba": []}) is None


def test_arms_over_time_take_runs_of_the_same_times():
    one = {k: make_line_fields(ERRORS)[k] for k in ("t", "errors over time")}
    runs = [one | {"errors over time": k * one["errors over time"]} for k in (1, 2, 9)]
    other = {"t": one["t"][:9], "errors over time": one["errors over time"][:9]}
    arms = {"uniform": [*runs, other, {}], "vrba": runs[:1], "rad": [{}]}
    mean, largest = plot_arms_over_time(arms).axes
    for axes, column in ((mean, 0), (largest, 3)):
        assert [line.get_label() for line in axes.lines] == ["uniform", "vrba"]
        expected = 2 * one["errors over time"][:, column]
        np.testing.assert_allclose(axes.lines[0].get_ydata(), expected)
    assert plot_arms_over_time({"uniform": [{}]}) is None


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
