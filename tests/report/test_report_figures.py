"""Figures of what a run logs and leaves behind."""

import matplotlib.colors
import numpy as np
import pytest

from tests.report.run_cases import MANIFEST, make_entry, make_fields
from vrba.diagnose import find_stages
from vrba.report import (
    RunFigure,
    figures_of,
    plot_curves,
    plot_drawn,
    plot_dynamics,
    plot_methods_dynamics,
    plot_residual,
    plot_solution,
    plot_weights,
    write_figures,
)
from vrba.runs import RunFolder, RunRecord


def make_record(num_entries=20, **options):
    return [make_entry(30 * k, num_steps=600, **options) for k in range(1, num_entries)]


def labels(axes):
    return [line.get_label() for line in axes.lines if line.get_label()[0] != "_"]


def column(record, key):
    return [entry[key] for entry in record]


def test_curves_show_what_was_logged():
    record = make_record()
    figure = plot_curves(record)
    error, residual, loss, conditions = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "relative L2 error",
        "residual on held-out points",
        "loss",
        "residual of conditions",
    ]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert {axes.get_xlabel() for axes in figure.axes} == {"steps"}
    np.testing.assert_array_equal(error.lines[0].get_ydata(), column(record, "error"))
    np.testing.assert_array_equal(error.lines[0].get_xdata(), column(record, "step"))
    assert labels(residual) == ["root mean square", "largest"]
    assert labels(conditions) == ["initial"]
    assert [line.get_xdata() for line in loss.lines[1:]] == [[315.0, 315.0]]


def test_curves_leave_out_what_is_not_there():
    record = [{"step": 1, "loss": 1.0}, {"step": 2, "loss": None, "error": None}]
    assert [axes.get_ylabel() for axes in plot_curves(record).axes] == ["loss"]
    assert plot_curves([]) is None
    assert plot_curves([{"step": 1, "loss": 0.0}]) is None


def test_dynamics_have_band_floor_and_stages():
    record = make_record()
    for entry in record:
        entry["snr_unit"] *= 5.0 if entry["step"] <= 240 else 0.1
    first, second = find_stages(record)
    assert (first.name, second.name) == ("fitting", "transition")
    variance, ratio = plot_dynamics(record).axes
    assert labels(variance) == ["base distribution", "tilted distribution"]
    assert labels(ratio)[-1] == "pure noise" and len(labels(ratio)) == 3
    np.testing.assert_array_equal(ratio.lines[0].get_ydata(), column(record, "snr"))
    np.testing.assert_allclose(ratio.lines[-1].get_ydata(), 8**-0.5)
    (band,) = ratio.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(max(column(record, "snr")) + 0.1)
    for axes in (variance, ratio):
        assert [text.get_text() for text in axes.texts] == ["fitting", "transition"]
        spans = [(p.get_x(), p.get_x() + p.get_width()) for p in axes.patches]
        ends = [first.first_step, second.first_step, second.last_step]
        assert spans == [tuple(ends[:2]), tuple(ends[1:])]  # without a gap
        assert len({patch.get_alpha() for patch in axes.patches}) == 2


def test_dynamics_need_diagnostics():
    assert plot_dynamics(make_record(diagnosed=False)) is None
    only = [{"step": k, "snr": 1.0 / k} for k in range(1, 4)]
    assert len(plot_dynamics(only).axes) == 1


def test_weights_are_counted_and_placed():
    fields = make_fields()
    counts, places, _ = plot_weights(fields).axes
    assert (counts.get_xscale(), counts.get_yscale()) == ("log", "log")
    bars = sum(patch.get_height() for patch in counts.patches)
    assert bars == len(fields["pool weights"])
    cells = places.collections[0]
    assert isinstance(cells.norm, matplotlib.colors.LogNorm)
    centres, values = cells.get_offsets(), cells.get_array()
    assert abs(centres[np.argmax(values)][1]) < 0.2  # where the weights were made large
    assert (places.get_xlabel(), places.get_ylabel()) == ("t", "x")


def test_equal_weights_can_be_drawn():
    fields = make_fields()
    fields["pool weights"] = np.ones(2000)
    assert plot_weights(fields) is not None
    assert plot_weights(fields | {"pool weights": np.full(2000, np.nan)}) is None


def test_residual_of_each_equation_has_a_map():
    fields = make_fields()
    fields["residuals"] = np.array(["momentum", "energy", "gone"])
    fields["residual energy"] = np.zeros((61, 81))
    figure = plot_residual(fields)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["residual of momentum", "residual of energy"]
    mesh = figure.axes[0].collections[0]
    assert isinstance(mesh.norm, matplotlib.colors.LogNorm)
    assert mesh.norm.vmax == pytest.approx(np.max(fields["residual momentum"]))


def test_one_coordinate_makes_lines_and_three_a_cut():
    line = make_fields(coordinates=("x",), sizes=(50,))
    (axes,) = plot_residual(line).axes
    assert axes.get_yscale() == "log" and axes.get_xlabel() == "x"
    assert plot_weights(line).axes[1].get_xlabel() == "x"
    drawn = plot_drawn({0: line["pool points"]}, line)
    assert drawn.axes[0].get_ylabel() == "points"
    solid = make_fields(coordinates=("t", "x", "y"), sizes=(5, 6, 7))
    assert plot_residual(solid).axes[0].get_title() == "residual of momentum at t = 0.5"
    assert plot_weights(solid).axes[1].get_ylabel() == "y"


def test_drawn_points_of_six_steps_from_first_to_last():
    random = np.random.default_rng(0)
    drawn = {100 * k: random.uniform(size=(40, 2)) for k in range(20)}
    figure = plot_drawn(drawn, make_fields())
    titles = [axes.get_title() for axes in figure.axes]
    assert len(titles) == 6
    assert titles[0] == "40 points, step 0" and titles[-1] == "40 points, step 1,900"
    offsets = figure.axes[-1].collections[0].get_offsets()
    np.testing.assert_allclose(offsets, drawn[1900])
    assert figure.axes[0].get_ylim() == (-1, 1)  # all of the domain
    unnamed = plot_drawn({5: drawn[100]})
    assert (unnamed.axes[0].get_xlabel(), unnamed.axes[0].get_ylabel()) == ("x1", "x2")


@pytest.mark.parametrize("plot", [plot_weights, plot_residual])
def test_without_arrays_there_is_no_figure(plot):
    assert plot(None) is None and plot({}) is None
    assert plot_drawn({}) is None and plot_drawn({1: np.zeros((0, 2))}) is None


def test_methods_have_variance_and_ratio():
    methods = {
        "uniform": [make_record(seed=s) for s in (0, 1)],
        "vrba": [make_record()],
    }
    figure = plot_methods_dynamics(methods)
    assert [labels(axes) for axes in figure.axes] == [["uniform", "vrba"]] * 3
    assert all(len(axes.collections) == 2 for axes in figure.axes)
    assert plot_methods_dynamics({"uniform": [make_record(diagnosed=False)]}) is None


def test_figures_of_a_page_are_found_by_looking(tmp_path):
    run = RunRecord(
        tmp_path, MANIFEST, make_record(), make_fields(), {}, {0: np.ones((3, 2))}
    )
    found = [one for one, _ in figures_of(run)]
    assert all(isinstance(one, RunFigure) for one in found)
    assert [one.place for one in found] == sorted({one.place for one in found})
    assert len(found) == 6
    for one in found:
        assert one.caption.endswith(".") and one.title


def test_lines_differ_without_colour():
    for figure in (plot_curves(make_record()), plot_dynamics(make_record())):
        for axes in figure.axes:
            drawn = [line for line in axes.lines if line.get_label()[0] != "_"]
            looks = {(line.get_linestyle(), line.get_marker()) for line in drawn}
            assert len(looks) == len(drawn)


# The solution.


def make_solution(coordinates, names, *, has_reference=True, has_points=True):
    """Arrays as a run leaves them behind."""
    sizes = [7, 5, 6][: len(coordinates)]
    axes = [np.linspace(0, 1 + k, size) for k, size in enumerate(sizes)]
    grid = sum(np.meshgrid(*axes, indexing="ij"))
    fields = dict(zip(coordinates, axes, strict=True)) | dict.fromkeys(names, grid)
    if has_reference:
        fields |= {f"reference {name}": grid + 1e-3 * grid**2 for name in names}
    if has_points:
        random = np.random.default_rng(0)
        fields["drawn points"] = random.uniform(size=(20, len(coordinates)))
    return fields | {"coordinates": np.array(coordinates), "fields": np.array(names)}


def panels(figure):
    """The panels by title; scales beside them have none."""
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


def test_two_coordinates_make_maps():
    found = panels(plot_solution(make_solution(["t", "x"], ["u"])))
    assert list(found) == ["u", "error of u", "20 sampled points"]
    for axes in found.values():
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("t", "x")
        assert axes.get_xlim()[1] >= 1 and axes.get_ylim()[1] >= 2
    assert len(found["20 sampled points"].collections[0].get_offsets()) == 20


def test_error_is_on_a_logarithmic_scale():
    fields = make_solution(["t", "x"], ["u"])
    mesh = panels(plot_solution(fields))["error of u"].collections[0]
    assert isinstance(mesh.norm, matplotlib.colors.LogNorm)
    expected = np.abs(fields["u"] - fields["reference u"])
    assert mesh.norm.vmax == pytest.approx(expected.max())
    shown = np.asarray(mesh.get_array()).reshape(5, 7)
    np.testing.assert_allclose(shown, np.maximum(expected.T, mesh.norm.vmin))
    assert mesh.get_cmap().name == "viridis"


def test_only_fields_of_the_reference_have_errors_and_outside_is_left_blank():
    fields = make_solution(["x", "y"], ["u", "p"])
    del fields["reference p"]
    outside = np.full((7, 5), False)
    outside[2, 3] = True
    for name in ("u", "reference u", "p"):
        fields[name] = np.where(outside, np.nan, fields[name])
    found = panels(plot_solution(fields))
    assert sorted(found) == ["20 sampled points", "error of u", "p", "u"]
    mesh = found["error of u"].collections[0]
    shown = np.ma.getmaskarray(mesh.get_array()).reshape(5, 7)
    np.testing.assert_array_equal(shown, outside.T)
    assert np.isfinite(mesh.norm.vmax)


def test_an_error_of_zero_can_be_drawn(tmp_path):
    fields = make_solution(["t", "x"], ["u"])
    fields["reference u"] = fields["u"]
    folder = RunFolder(tmp_path)
    folder.write_manifest(MANIFEST)
    folder.save_fields(fields)
    (path,) = write_figures(tmp_path)
    assert path == tmp_path / "figures" / "solution.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_one_coordinate_makes_lines():
    fields = make_solution(["x"], ["u"])
    found = panels(plot_solution(fields))
    assert list(found) == ["u", "error of u", "20 sampled points"]
    solution, error = found["u"], found["error of u"]
    assert [axes.get_xlabel() for axes in found.values()] == ["x"] * 3
    assert len(solution.lines) == 2 and solution.get_legend() is not None
    assert error.get_yscale() == "log" and error.get_ylabel() == "|error of u|"
    np.testing.assert_array_equal(solution.lines[0].get_ydata(), fields["u"])


def test_three_coordinates_are_cut_halfway():
    fields = make_solution(["t", "x", "y"], ["u"])
    found = panels(plot_solution(fields))
    assert list(found)[:2] == ["u at t = 0.5", "error of u at t = 0.5"]
    axes = found["u at t = 0.5"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    values = np.asarray(axes.collections[0].get_array()).reshape(6, 5)
    np.testing.assert_array_equal(values, fields["u"][3].T)


def test_each_field_has_a_row():
    found = panels(plot_solution(make_solution(["t", "x"], ["u", "v"])))
    names = ["u", "error of u", "20 sampled points", "v", "error of v"]
    assert list(found) == names


@pytest.mark.parametrize("has_points", [True, False])
def test_without_a_reference_there_is_no_error(has_points):
    options = {"has_reference": False, "has_points": has_points}
    found = panels(plot_solution(make_solution(["t", "x"], ["u"], **options)))
    assert list(found) == ["u", "20 sampled points"][: 1 + has_points]


def test_many_points_are_thinned():
    fields = make_solution(["t", "x"], ["u"])
    fields["drawn points"] = np.zeros((6000, 2))
    assert "5,000 of 6,000 sampled points" in panels(plot_solution(fields))
