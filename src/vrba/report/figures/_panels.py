"""Panels of figures: layout, line styles, ticks, maps and scales."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

Record = Sequence[Mapping[str, Any]]
Arrays = Mapping[str, np.ndarray]

PANEL = (4.4, 3.4)  # inches, including the margins
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.85, 0.25, 0.55, 0.4
DOTS = "#3b7dd8"  # visible on white and on black
# From dark to light, so that the styles differ without colour as well.
STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#000000", "-", "o"),
    ("#c43c4e", "--", "s"),
    ("#3b7dd8", "-.", "^"),
    ("#e08f1b", ":", "D"),
    ("#45b39d", (0, (6, 1, 1, 1, 1, 1)), "v"),
    ("#b0a3d4", (0, (8, 3)), "P"),
)
_NUM_MARKERS = 8
_NUM_TICKS = 5
_FEW_DECADES = 1.5
_MAX_ASPECT = 5  # up to this ratio of its sides a domain is drawn to scale
_DOT_AREA = 6000  # square points, shared by all dots of a panel
_DECADES = 4  # of a colour scale


def new_panels(num_panels: int, num_columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row."""
    columns = min(num_panels, num_columns)
    figure, grid = new_grid(-(-num_panels // columns), columns)
    panels = list(grid.flat)
    for panel in panels[num_panels:]:
        panel.remove()
    return figure, panels[:num_panels]


def new_grid(num_rows: int, num_columns: int) -> tuple[Figure, np.ndarray]:
    """A figure and its panels by row and column.

    The margins are fixed: measuring them from the text takes longer than the drawing.
    """
    width, height = PANEL[0] * num_columns, PANEL[1] * num_rows
    figure = Figure(figsize=(width, height))
    across, up = PANEL[0] - _LEFT - _RIGHT, PANEL[1] - _BOTTOM - _TOP
    figure.subplots_adjust(
        left=_LEFT / width,
        right=1 - _RIGHT / width,
        bottom=_BOTTOM / height,
        top=1 - _TOP / height,
        wspace=(_LEFT + _RIGHT) / across,
        hspace=(_BOTTOM + _TOP) / up,
    )
    return figure, figure.subplots(num_rows, num_columns, squeeze=False)


def values_of(
    record: Record, measure: str, key: str = "step"
) -> tuple[np.ndarray, np.ndarray]:
    """Places (`key`) and values of the entries whose `measure` is positive."""
    known = [entry for entry in record if (entry.get(measure) or 0) > 0]
    places = np.array([entry[key] for entry in known], float)
    return places, np.array([entry[measure] for entry in known], float)


def has_any(record: Record, *measures: str) -> bool:
    """Whether any entry has a positive value of any of the measures."""
    return any((entry.get(name) or 0) > 0 for entry in record for name in measures)


def draw_line(
    panel: Axes, places: np.ndarray, values: np.ndarray, label: str, style: Any
) -> None:
    """Draw a line with a few markers in one of `STYLES`."""
    color, line, marker = style
    panel.plot(
        places,
        values,
        color=color,
        linestyle=line,
        marker=marker,
        markersize=4,
        markevery=max(len(places) // _NUM_MARKERS, 1),
        label=label,
    )


def finish(panel: Axes, *, is_log: bool = True, **labels: str) -> None:
    """Set labels, scale and grid, and a legend if any line has a name."""
    panel.set(**labels)  # pyright: ignore[reportArgumentType]
    if is_log:
        panel.set_yscale("log")
    thin_ticks(panel.xaxis, panel.yaxis)
    panel.grid(which="major", color="0.5", alpha=0.25)
    handles, names = panel.get_legend_handles_labels()
    if handles:
        panel.legend(handles, names, frameon=False, fontsize="small")


def leave_room(panel: Axes, share: float, *, is_log: bool) -> None:
    """Add space for a legend above the lines, as a share of their height."""
    low, high = panel.get_ylim()
    top = high * (high / low) ** share if is_log else high + share * (high - low)
    panel.set_ylim(low, top)


def thin_ticks(*axes: Axis) -> None:
    """Use few ticks with short labels such as `1e-5`: ticks dominate drawing time."""
    for axis in axes:
        if axis.get_scale() == "log":
            _thin_log_ticks(axis)
        else:
            axis.set_major_locator(MaxNLocator(_NUM_TICKS, steps=[1, 2, 5, 10]))


def _thin_log_ticks(axis: Axis) -> None:
    """Label numbers between powers of ten only if there are few powers."""
    low, high = np.log10(axis.get_view_interval())
    formatter = FuncFormatter(lambda value, _: _format_tick(value))
    axis.set_major_locator(LogLocator(numticks=_NUM_TICKS + 1))
    axis.set_major_formatter(formatter)
    axis.set_minor_locator(NullLocator())
    if high - low <= _FEW_DECADES:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(formatter)


def _format_tick(value: float) -> str:
    if 0.01 <= value < 1e5:
        return f"{value:g}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def log_sizes(values: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, LogNorm]:
    """Absolute values and a logarithmic colour scale of four decades for them.

    Values below the scale, zero among them, become its smallest value. Differences of
    values of size `scale` are not resolved below rounding.
    """
    size = np.abs(values)
    rounding = np.finfo(float).eps * (scale or 1.0)
    largest = float(np.max(size[np.isfinite(size)], initial=rounding))
    smallest = largest / 10.0**_DECADES
    return np.maximum(size, smallest), LogNorm(smallest, largest)


def log_bins(values: np.ndarray, num_bins: int) -> list[float]:
    """Edges of histogram bins of equal width in the logarithm."""
    lowest, highest = np.log10(np.min(values)), np.log10(np.max(values))
    margin = max(0.02 * (highest - lowest), 0.02)
    return list(np.logspace(lowest - margin, highest + margin, num_bins + 1))


def is_wide(values: np.ndarray) -> bool:
    """Whether all values are positive and span more than a decade."""
    known = values[np.isfinite(values)]
    return bool(known.size and np.min(known) > 0 and np.max(known) > 10 * np.min(known))


def add_colorbar(panel: Axes, colours: Any) -> None:
    """Draw the colour scale beside the panel."""
    figure = panel.get_figure()
    if figure is None:
        return
    bar = figure.colorbar(colours, ax=panel)
    thin_ticks(bar.ax.yaxis)


def draw_map(
    panel: Axes, axes: Arrays, values: np.ndarray, title: str, norm: Any = None
) -> None:
    """Draw values over two coordinates: a map on a grid, dots at scattered points."""
    (across, first), (up, second) = axes.items()
    options: dict[str, Any] = {"norm": norm, "cmap": "viridis", "rasterized": True}
    if values.ndim == 2:
        colours = panel.pcolormesh(
            first, second, values.T, shading="nearest", **options
        )
    else:
        area = float(np.clip(_DOT_AREA / len(values), 2, 60))
        colours = panel.scatter(
            first, second, s=area, c=values, linewidths=0, **options
        )
    add_colorbar(panel, colours)
    panel.set(title=title, xlabel=across, ylabel=up)
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


def draw_points(
    panel: Axes, points: np.ndarray, axes: Arrays, title: str, max_points: int = 5000
) -> None:
    """Draw points over the last two coordinates, or a histogram over a single one.

    Only the first `max_points` are drawn, and the title says so.
    """
    if len(axes) == 1:
        panel.hist(points[:, -1], bins=50, color=DOTS)
        panel.set(title=title, xlabel=next(iter(axes)), ylabel="points")
        return
    drawn = points[:max_points, -2:]
    if len(drawn) < len(points):
        title = f"{len(drawn):,} of {title}"
    panel.scatter(
        drawn[:, 0], drawn[:, 1], s=3, color=DOTS, linewidths=0, rasterized=True
    )
    across, up = axes
    panel.set(title=title, xlabel=across, ylabel=up)
    panel.set(xlim=ends_of(axes[across]), ylim=ends_of(axes[up]))
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


def keep_shape(panel: Axes, axes: Arrays) -> None:
    """Use equal units on both axes, except for time and for very long domains."""
    extents = [np.ptp(axis) for axis in axes.values()]
    if "t" not in axes and max(extents) <= _MAX_ASPECT * min(extents):
        panel.set_aspect("equal")


def ends_of(axis: np.ndarray) -> tuple[float, float]:
    """Limits of a panel along this coordinate."""
    return float(np.min(axis)), float(np.max(axis))
