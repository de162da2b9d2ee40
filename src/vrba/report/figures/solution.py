"""Solution, error and sampled points side by side."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import RunFigure
from ._cuts import last_two_axes, middle_cut, middle_cut_text
from ._panels import Arrays, draw_map, draw_points, log_sizes, new_grid


def plot_solution(fields: Arrays) -> Figure:
    """A row for each field: solution, error if there is a reference, sampled points.

    `fields` holds the arrays of `fields.npz`. With two coordinates the first is
    horizontal. With more, the last two are shown, in the middle of the others.
    """
    names = [str(name) for name in fields["fields"]]
    axes = last_two_axes(fields)
    is_line = len(axes) == 1
    columns = [_draw_line if is_line else _draw_field]
    if any(f"reference {name}" in fields for name in names):
        columns.append(_draw_error_line if is_line else _draw_error)
    has_points = "drawn points" in fields
    figure, grid = new_grid(len(names), len(columns) + has_points)
    for row, name in zip(grid, names, strict=True):
        for panel, draw in zip(row, columns, strict=False):
            draw(panel, fields, name, axes)
    if has_points:
        points = fields["drawn points"]
        draw_points(grid[0, -1], points, axes, f"{len(points):,} sampled points")
        for panel in grid[1:, -1]:
            panel.remove()  # all fields share the points
    return figure


def _error(fields: Arrays, name: str) -> tuple[np.ndarray, LogNorm]:
    """The size of the error and its colour scale."""
    true = middle_cut(fields, f"reference {name}")
    top = float(np.max(np.abs(true[np.isfinite(true)]), initial=0.0))
    return log_sizes(middle_cut(fields, name) - true, top)


def _draw_field(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    draw_map(panel, axes, middle_cut(fields, name), name + middle_cut_text(fields))


def _draw_error(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    if f"reference {name}" not in fields:
        panel.remove()
        return
    values, norm = _error(fields, name)
    draw_map(panel, axes, values, f"error of {name}{middle_cut_text(fields)}", norm)


def _draw_line(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    ((across, first),) = axes.items()
    panel.plot(first, fields[name], color="black", label="solution")
    if f"reference {name}" in fields:
        true = fields[f"reference {name}"]
        panel.plot(first, true, linestyle="--", color="0.6", label="reference")
        panel.legend(frameon=False)
    panel.set(title=name, xlabel=across, ylabel=name)


def _draw_error_line(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    if f"reference {name}" not in fields:
        panel.remove()
        return
    ((across, first),) = axes.items()
    values, norm = _error(fields, name)
    panel.semilogy(first, values, color="black")
    panel.set(title=f"error of {name}", xlabel=across, ylabel=f"|error of {name}|")
    panel.set_ylim(norm.vmin, 2 * (norm.vmax or 1.0))


SOLUTION = RunFigure(
    10,
    "solution",
    "Solution",
    "The selected iterate, the size of its error on a logarithmic scale if there is a "
    "reference, and the last sampled points.",
    lambda run: (
        plot_solution(run.fields) if run.fields and "fields" in run.fields else None
    ),
)
