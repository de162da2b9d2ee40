"""Figures and the live panel."""

import io

import matplotlib.colors
import numpy as np
import pytest
from rich.console import Console

from vrba.core import AbstractCallback, Plan
from vrba.report import Panel, plot_solution, write_figures


def make_fields(coordinates, names, *, has_reference=True, has_points=True):
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
    found = panels(plot_solution(make_fields(["t", "x"], ["u"])))
    assert list(found) == ["u", "error of u", "20 drawn points"]
    for axes in found.values():
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("t", "x")
        assert axes.get_xlim()[1] >= 1 and axes.get_ylim()[1] >= 2
    assert len(found["20 drawn points"].collections[0].get_offsets()) == 20


def test_error_is_on_a_logarithmic_scale():
    fields = make_fields(["t", "x"], ["u"])
    mesh = panels(plot_solution(fields))["error of u"].collections[0]
    assert isinstance(mesh.norm, matplotlib.colors.LogNorm)
    expected = np.abs(fields["u"] - fields["reference u"])
    assert mesh.norm.vmax == pytest.approx(expected.max())
    shown = np.asarray(mesh.get_array()).reshape(5, 7)
    np.testing.assert_allclose(shown, np.maximum(expected.T, mesh.norm.vmin))
    assert mesh.get_cmap().name == "viridis"


def test_only_fields_of_the_reference_have_errors_and_outside_is_left_blank():
    fields = make_fields(["x", "y"], ["u", "p"])
    del fields["reference p"]
    outside = np.full((7, 5), False)
    outside[2, 3] = True
    for name in ("u", "reference u", "p"):
        fields[name] = np.where(outside, np.nan, fields[name])
    found = panels(plot_solution(fields))
    assert sorted(found) == ["20 drawn points", "error of u", "p", "u"]
    mesh = found["error of u"].collections[0]
    shown = np.ma.getmaskarray(mesh.get_array()).reshape(5, 7)
    np.testing.assert_array_equal(shown, outside.T)
    assert np.isfinite(mesh.norm.vmax)


def test_an_error_of_zero_can_be_drawn(tmp_path):
    fields = make_fields(["t", "x"], ["u"])
    fields["reference u"] = fields["u"]
    np.savez(tmp_path / "fields.npz", **fields)
    (tmp_path / "recipe.json").write_text("{}")
    (path,) = write_figures(tmp_path)
    assert path == tmp_path / "figures" / "solution.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_one_coordinate_makes_lines():
    fields = make_fields(["x"], ["u"])
    found = panels(plot_solution(fields))
    assert list(found) == ["u", "error of u", "20 drawn points"]
    solution, error = found["u"], found["error of u"]
    assert [axes.get_xlabel() for axes in found.values()] == ["x"] * 3
    assert len(solution.lines) == 2 and solution.get_legend() is not None
    assert error.get_yscale() == "log" and error.get_ylabel() == "|error of u|"
    np.testing.assert_array_equal(solution.lines[0].get_ydata(), fields["u"])


def test_three_coordinates_are_cut_halfway():
    fields = make_fields(["t", "x", "y"], ["u"])
    found = panels(plot_solution(fields))
    assert list(found)[:2] == ["u at t = 0.5", "error of u at t = 0.5"]
    axes = found["u at t = 0.5"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    values = np.asarray(axes.collections[0].get_array()).reshape(6, 5)
    np.testing.assert_array_equal(values, fields["u"][3].T)


def test_each_field_has_a_row():
    found = panels(plot_solution(make_fields(["t", "x"], ["u", "v"])))
    names = ["u", "error of u", "20 drawn points", "v", "error of v"]
    assert list(found) == names


@pytest.mark.parametrize("has_points", [True, False])
def test_without_a_reference_there_is_no_error(has_points):
    options = {"has_reference": False, "has_points": has_points}
    found = panels(plot_solution(make_fields(["t", "x"], ["u"], **options)))
    assert list(found) == ["u", "20 drawn points"][: 1 + has_points]


def test_many_points_are_thinned():
    fields = make_fields(["t", "x"], ["u"])
    fields["drawn points"] = np.zeros((6000, 2))
    assert "5,000 of 6,000 drawn points" in panels(plot_solution(fields))


# The panel.


PLAN = Plan(
    "Burgers", 1341, "8192 points", "float64", "Adam", 0, 300, 0.5, 150.0, 1, None
)
ENTRY = {
    "step": 15,
    "seconds": 9.0,
    "loss": 1.5e-4,
    "residual_l2": 2.5e-2,
    "residual_max": 3.5e-1,
}


def shown_by(*, error=None):
    """What the panel leaves on the screen after one check."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=90,
        force_terminal=True,
        color_system=None,
    )
    panel = Panel(console)
    assert isinstance(panel, AbstractCallback)
    panel.begin(PLAN)
    panel.check(ENTRY if error is None else ENTRY | {"error": error}, 81.0)
    panel.end("not shown")
    panel.close()  # twice does no harm
    return console.export_text()


def test_panel_shows_where_the_run_stands():
    text = shown_by(error=4.5e-3)
    assert "1341 parameters in float64" in text
    for part in (
        "15 of 300",
        "1.50e-04",
        "2.50e-02, largest 3.5e-01",
        "9 s, 81 s left",
    ):
        assert part in text
    assert "4.50e-03 (relative L2)" in text
    assert "━" in text and "not shown" not in text


def test_panel_without_a_reference_has_no_error():
    assert "relative L2" not in shown_by()


def test_panel_before_the_first_check_shows_the_plan():
    console = Console(file=io.StringIO(), record=True, width=90, force_terminal=True)
    panel = Panel(console)
    panel.begin(PLAN)
    panel.close()
    text = console.export_text()
    assert "0 of 300" in text and "left" in text and "loss" not in text
