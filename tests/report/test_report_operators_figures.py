"""Figures of operators, alone and of several methods."""

import matplotlib.colors
import numpy as np
import pytest

from tests.report.operator_cases import (
    make_errors,
    make_grid_fields,
    make_line_fields,
    make_result,
    make_scattered_fields,
)
from vrba.report import (
    figures,
    format_number,
    plot_adaptivity,
    plot_error_distribution,
    plot_errors_over_time,
    plot_functions,
    plot_methods_errors,
    plot_methods_over_time,
)

cuts_of, output_axes = figures._cuts.cuts_of, figures._cuts.output_axes
ERRORS = make_errors()
LEVELS = {"p50": 50, "p95": 95, "p99": 99, "max": 100}


def panels(figure):
    """The panels by title; scales beside them have none."""
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


# Functions.


def test_functions_over_one_coordinate_are_lines():
    fields = make_line_fields(ERRORS)
    found = panels(plot_functions(fields))
    ids = fields["example ids"][[0, 3, 4]]
    heads = [f"input {one}: error {format_number(float(ERRORS[one]))}" for one in ids]
    expected = [
        title
        for one, head in zip(ids, heads, strict=True)
        for title in (head, f"output {one}", f"error {one}")
    ]
    assert list(found) == expected and ids[0] == np.argmax(ERRORS)
    output, error = found[f"output {ids[1]}"], found[f"error {ids[1]}"]
    prediction, truth = (line.get_ydata() for line in output.lines)
    np.testing.assert_array_equal(prediction, fields["example outputs"][3, :, 0])
    np.testing.assert_array_equal(truth, fields["example truth"][3, :, 0])
    assert output.lines[0].get_linestyle() != output.lines[1].get_linestyle()
    assert error.get_yscale() == "log" and error.get_xlabel() == "t"
    assert max(error.lines[0].get_ydata()) == pytest.approx(
        np.max(np.abs(prediction - truth))
    )


def test_the_worst_channel_is_shown():
    fields = make_line_fields(ERRORS, channels=3)
    fields["example outputs"][..., 1] = fields["example truth"][..., 1]
    one = fields["example ids"][0]
    found = panels(plot_functions(fields))[f"output {one}, channel 3"]
    truth = fields["example truth"][0, :, 2]
    np.testing.assert_array_equal(found.lines[1].get_ydata(), truth)


@pytest.mark.parametrize("names", [("t", "x", "y"), ("x", "y", "t")])
def test_time_is_cut_at_its_end_and_where_the_error_is_largest(names):
    fields = make_grid_fields(ERRORS, names=names)
    found = panels(plot_functions(fields))
    one = fields["example ids"][0]
    expected = [
        f"{what} {k}, t = {time}"
        for k in fields["example ids"][[0, 3, 4]]
        for time in ("1", "0.3")
        for what in ("truth", "prediction", "error")
    ]
    assert list(found)[3:] == expected
    place = [3 if name == "t" else slice(None) for name in names]
    truth = fields["example truth"][(0, *place, 0)]
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
    gap = fields["example outputs"][(0, *place, 0)] - truth
    assert error.norm.vmax == pytest.approx(np.max(np.abs(gap)))


def test_what_is_cut_depends_on_the_coordinates():
    fields = make_grid_fields(ERRORS)
    error = np.ones((24, 20, 11))
    assert [cut.place for cut in cuts_of(fields, error)] == [
        "t = 1",
        "t = 0",
    ]
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
    one = fields["example ids"][0]
    dots = found[f"truth {one}"].collections[0]
    np.testing.assert_allclose(dots.get_offsets(), fields["places"])
    np.testing.assert_array_equal(dots.get_array(), fields["example truth"][0, :, 0])
    numbers = next(iter(found.values())).lines[0]
    np.testing.assert_array_equal(numbers.get_ydata(), fields["example inputs"][0])
    line = make_scattered_fields(ERRORS, dim=1)
    axes = panels(plot_functions(line))[f"output {one}"]
    assert np.all(np.diff(axes.lines[0].get_xdata()) > 0)  # in order
    del fields["coordinates"]
    assert list(output_axes(fields)) == ["x1", "x2"]


@pytest.mark.parametrize("number", [1, 2])
def test_few_functions_can_be_shown(number):
    fields = make_line_fields(ERRORS)
    fields |= {k: v[:number] for k, v in fields.items() if k.startswith("example ")}
    assert len(panels(plot_functions(fields))) == 3 * number
    assert plot_functions(fields | {"example ids": np.array([], int)}) is None


# Errors and adaptivity.


def test_errors_over_time_have_four_lines():
    fields = make_grid_fields(ERRORS)
    (axes,) = plot_errors_over_time(fields).axes
    assert axes.get_yscale() == "log" and axes.get_xlabel() == "t"
    assert [line.get_label() for line in axes.lines] == [
        "mean",
        "median",
        "95th percentile",
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
    assert marks[-1].get_label() == f"largest: {format_number(float(np.max(ERRORS)))}"


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
    for name in names:  # a sample is one place along it
        split = fields | {"mean weight": np.mean(weight, axis=names.index(name))}
        rest = [other for other in names if other != name]
        axes = panels(plot_adaptivity(split))["mean weight"]
        assert [axes.get_xlabel(), axes.get_ylabel()] == rest


@pytest.mark.parametrize("dim", [2, 3])
def test_weights_of_scattered_points_are_dots(dim):
    fields = make_scattered_fields(ERRORS, dim=dim)
    fields["coordinates"] = np.array(["t", "x", "y"][:dim])
    weight, _ = plot_adaptivity(fields).axes
    np.testing.assert_array_equal(
        weight.collections[0].get_array(), fields["mean weight"]
    )


# Methods.


def test_methods_show_medians_over_seeds():
    both = [make_result(make_errors(seed=seed))["errors"] for seed in (0, 1, 2)]
    (axes,) = plot_methods_errors({"uniform": both, "vrba": both[:1], "rad": []}).axes
    assert [line.get_label() for line in axes.lines] == ["uniform", "vrba"]
    levels = [[one[key] for key in LEVELS] for one in both]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.median(levels, axis=0))
    ends = [part[:, 1] for part in axes.collections[0].get_segments()]
    expected = np.stack([np.min(levels, axis=0), np.max(levels, axis=0)], axis=1)
    np.testing.assert_allclose(ends, expected)
    assert plot_methods_errors({"uniform": [], "vrba": []}) is None


def test_methods_over_time_take_runs_of_the_same_times():
    one = {k: make_line_fields(ERRORS)[k] for k in ("t", "errors over time")}
    runs = [one | {"errors over time": k * one["errors over time"]} for k in (1, 2, 9)]
    other = {"t": one["t"][:9], "errors over time": one["errors over time"][:9]}
    methods = {"uniform": [*runs, other, {}], "vrba": runs[:1], "rad": [{}]}
    mean, largest = plot_methods_over_time(methods).axes
    for axes, column in ((mean, 0), (largest, 3)):
        assert [line.get_label() for line in axes.lines] == ["uniform", "vrba"]
        expected = 2 * one["errors over time"][:, column]
        np.testing.assert_allclose(axes.lines[0].get_ydata(), expected)
    assert plot_methods_over_time({"uniform": [{}]}) is None
