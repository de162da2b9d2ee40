"""Solution, error and drawn points side by side."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

Arrays = dict[str, np.ndarray]

_MOST_POINTS = 5000
_LONGEST = 5  # a panel, relative to its width, that is still drawn to scale
_DECADES = 4  # of the error, below its largest value


def plot_solution(fields: Arrays) -> Figure:
    """A row for each field: the solution, its error where there is a reference, and
    the points drawn last.

    `fields` holds what a run writes to `fields.npz`. Of two coordinates the first runs
    to the right; of more, the last two are shown where the others are halfway.
    """
    names = [str(name) for name in fields["fields"]]
    axes = _shown_axes(fields)
    is_line = len(axes) == 1
    columns = [_draw_line if is_line else _draw_map]
    if any(f"reference {name}" in fields for name in names):
        columns.append(_draw_error_line if is_line else _draw_error_map)
    has_points = "drawn points" in fields
    size = (4.4 * (len(columns) + has_points), 3.6 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(names), len(columns) + has_points, squeeze=False)
    for row, name in zip(grid, names, strict=True):
        for panel, draw in zip(row, columns, strict=False):
            draw(panel, fields, name, axes)
    if has_points:
        _draw_points(grid[0, -1], fields, axes)
        for panel in grid[1:, -1]:
            panel.remove()  # the points are the same for every field
    return figure


def _shown_axes(fields: Arrays) -> Arrays:
    """The coordinates that are drawn along."""
    names = [str(name) for name in fields["coordinates"]]
    return {name: fields[name] for name in names[-2:]}


def _slice(fields: Arrays, key: str) -> np.ndarray:
    """The values along the last two coordinates, halfway through the others."""
    values = fields[key]
    while values.ndim > 2:
        values = values[values.shape[0] // 2]
    return values


def _place(fields: Arrays) -> str:
    """Where the slice is."""
    cut = [str(name) for name in fields["coordinates"]][:-2]
    halfway = [f"{name} = {fields[name][fields[name].size // 2]:.3g}" for name in cut]
    return f" at {', '.join(halfway)}" if halfway else ""


def _error(fields: Arrays, name: str) -> tuple[np.ndarray, LogNorm]:
    """The size of the error and a scale for it; zero has no logarithm."""
    true = _slice(fields, f"reference {name}")
    size = np.abs(_slice(fields, name) - true)
    finite = size[np.isfinite(size)]
    top = float(np.max(np.abs(true[np.isfinite(true)]), initial=0.0))
    rounding = np.finfo(float).eps * (top or 1.0)
    largest = float(np.max(finite, initial=rounding))
    smallest = largest / 10.0**_DECADES
    return np.maximum(size, smallest), LogNorm(smallest, largest)


def _draw_map(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    _draw_colours(panel, axes, _slice(fields, name), name + _place(fields))


def _draw_error_map(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    if f"reference {name}" not in fields:
        panel.remove()
        return
    values, norm = _error(fields, name)
    _draw_colours(panel, axes, values, f"error of {name}{_place(fields)}", norm)


def _draw_colours(
    panel: Axes,
    axes: Arrays,
    values: np.ndarray,
    title: str,
    norm: LogNorm | None = None,
) -> None:
    (across, first), (up, second) = axes.items()
    options: dict[str, Any] = {"norm": norm, "cmap": "viridis", "rasterized": True}
    mesh = panel.pcolormesh(first, second, values.T, shading="nearest", **options)
    figure = panel.get_figure()
    if figure is not None:
        figure.colorbar(mesh, ax=panel)
    panel.set(title=title, xlabel=across, ylabel=up)
    _keep_shape(panel, axes)


def _draw_line(panel: Axes, fields: Arrays, name: str, axes: Arrays) -> None:
    ((across, first),) = axes.items()
    panel.plot(first, fields[name], color="black", label="solution")
    if f"reference {name}" in fields:
        true = fields[f"reference {name}"]
        panel.plot(first, true, linestyle="--", color="0.6", label="reference")
        panel.legend()
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


def _draw_points(panel: Axes, fields: Arrays, axes: Arrays) -> None:
    points = fields["drawn points"]
    shown = points[:_MOST_POINTS, -2:]
    title = f"{len(points):,} drawn points"
    if len(axes) == 1:
        panel.hist(points[:, 0], bins=50, color="0.4")
        panel.set(title=title, xlabel=next(iter(axes)), ylabel="points")
        return
    if len(shown) < len(points):
        title = f"{len(shown):,} of {title}"
    panel.scatter(shown[:, 0], shown[:, 1], s=2, color="black", linewidths=0)
    across, up = axes
    panel.set(title=title, xlabel=across, ylabel=up)
    panel.set(xlim=_ends(axes[across]), ylim=_ends(axes[up]))
    _keep_shape(panel, axes)


def _keep_shape(panel: Axes, axes: Arrays) -> None:
    """Equal units along both axes, unless one is time or the panel became a strip."""
    extents = [np.ptp(axis) for axis in axes.values()]
    if "t" not in axes and max(extents) <= _LONGEST * min(extents):
        panel.set_aspect("equal")


def _ends(axis: np.ndarray) -> tuple[float, float]:
    return float(axis[0]), float(axis[-1])
