"""Solution, error and drawn points side by side."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import (
    Arrays,
    RunFigure,
    cut,
    draw_map,
    draw_points,
    new_grid,
    place_of_cut,
    shown_axes,
)
from .scales import log_sizes


def plot_solution(fields: Arrays) -> Figure:
    """A row for each field: the solution, its error where there is a reference, and
    the points drawn last.

    `fields` holds what a run writes to `fields.npz`. Of two coordinates the first runs
    to the right; of more, the last two are shown where the others are halfway.
    """
    names = [str(name) for name in fields["fields"]]
    axes = shown_axes(fields)
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
        draw_points(grid[0, -1], points, axes, f"{len(points):,} drawn points")
        for panel in grid[1:, -1]:
            panel.remove()  # the points are the same for every field
    return figure


def _error(fields: Arrays, name: str) -> tuple[np.ndarray, LogNorm]:
    """The size of the error and a scale for it."""
    true = cut(fields, f"reference {name}")
    top = float(np.max(np.abs(true[np.isfinite(true)]), initial=0.0))
    return log_sizes(cut(fields, name) - true, top)


def _draw_field(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    draw_map(panel, axes, cut(fields, name), name + place_of_cut(fields))


def _draw_error(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    if f"reference {name}" not in fields:
        panel.remove()
        return
    values, norm = _error(fields, name)
    draw_map(panel, axes, values, f"error of {name}{place_of_cut(fields)}", norm)


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
    "The selected iterate; beside it, where there is a reference, the size of its "
    "error on a logarithmic scale, and the points that were drawn last, which are "
    "dense where the residual was large.",
    lambda run: (
        plot_solution(run.fields) if run.fields and "fields" in run.fields else None
    ),
)
