"""What a figure of a run is, and how figures look."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..run import RunRecord

Record = Sequence[Mapping[str, Any]]
Arrays = Mapping[str, np.ndarray]

PANEL = (4.4, 3.4)  # inches, with its margins
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.85, 0.25, 0.55, 0.4
DOTS = "#3b7dd8"  # seen on white and on black
# From dark to light, so that they differ without colour as well.
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
_LONGEST = 5  # a panel, relative to its width, that is still drawn to scale


class RunFigure(NamedTuple):
    """A figure of a page about a run: its place there, and how it is read. `plot`
    returns None if the run holds nothing of what it shows; a panel without values is
    left out."""

    place: int
    name: str
    title: str
    caption: str
    plot: Callable[[RunRecord], Figure | None]


def new_panels(num_panels: int, num_columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, row by row."""
    columns = min(num_panels, num_columns)
    figure, grid = new_grid(-(-num_panels // columns), columns)
    panels = list(grid.flat)
    for panel in panels[num_panels:]:
        panel.remove()
    return figure, panels[:num_panels]


def new_grid(num_rows: int, num_columns: int) -> tuple[Figure, np.ndarray]:
    """A figure of rows and columns of panels. Margins are given, not measured from the
    text in them, which would take longer than to draw it."""
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
    """Where a measure is known and has a logarithm."""
    known = [entry for entry in record if (entry.get(measure) or 0) > 0]
    places = np.array([entry[key] for entry in known], float)
    return places, np.array([entry[measure] for entry in known], float)


def has_any(record: Record, *measures: str) -> bool:
    """Whether one of them can be drawn."""
    return any((entry.get(name) or 0) > 0 for entry in record for name in measures)


def draw_line(
    panel: Axes, places: np.ndarray, values: np.ndarray, label: str, style: Any
) -> None:
    """A line in one of the styles, with a few markers."""
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
    """Labels, scale, a quiet grid, and a legend if lines have names."""
    panel.set(**labels)  # pyright: ignore[reportArgumentType]
    if is_log:
        panel.set_yscale("log")
    thin_ticks(panel.xaxis, panel.yaxis)
    panel.grid(which="major", color="0.5", alpha=0.25)
    handles, names = panel.get_legend_handles_labels()
    if handles:
        panel.legend(handles, names, frameon=False, fontsize="small")


def leave_room(panel: Axes, share: float, *, is_log: bool) -> None:
    """Space above the lines for a legend, as a share of their height."""
    low, high = panel.get_ylim()
    top = high * (high / low) ** share if is_log else high + share * (high - low)
    panel.set_ylim(low, top)


def thin_ticks(*axes: Axis) -> None:
    """Few ticks, said plainly: `1e-5`. Ticks are most of a drawing's time."""
    for axis in axes:
        if axis.get_scale() == "log":
            _thin_log(axis)
        else:
            axis.set_major_locator(MaxNLocator(_NUM_TICKS, steps=[1, 2, 5, 10]))


def _thin_log(axis: Axis) -> None:
    """Numbers between powers of ten only where there are few powers."""
    low, high = np.log10(axis.get_view_interval())
    plain = FuncFormatter(lambda value, _: _said(value))
    axis.set_major_locator(LogLocator(numticks=_NUM_TICKS + 1))
    axis.set_major_formatter(plain)
    axis.set_minor_locator(NullLocator())
    if high - low <= _FEW_DECADES:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(plain)


def _said(value: float) -> str:
    if 0.01 <= value < 1e5:
        return f"{value:g}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def add_scale(panel: Axes, colours: Any) -> None:
    """The scale of the colours, beside the panel."""
    figure = panel.get_figure()
    if figure is None:
        return
    bar = figure.colorbar(colours, ax=panel)
    thin_ticks(bar.ax.yaxis)


def shown_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """The coordinates that are drawn along: the last two."""
    names = [str(name) for name in fields["coordinates"]]
    return {name: fields[name] for name in names[-2:]}


def cut(fields: Arrays, key: str) -> np.ndarray:
    """The values along the last two coordinates, halfway through the others."""
    values = fields[key]
    while values.ndim > 2:
        values = values[values.shape[0] // 2]
    return values


def place_of_cut(fields: Arrays) -> str:
    """Where the cut is."""
    names = [str(name) for name in fields["coordinates"]][:-2]
    halfway = [f"{name} = {fields[name][fields[name].size // 2]:.3g}" for name in names]
    return f" at {', '.join(halfway)}" if halfway else ""


def draw_map(
    panel: Axes,
    axes: Arrays,
    values: np.ndarray,
    title: str,
    norm: Any = None,
) -> None:
    """Colours over two coordinates, with their scale."""
    (across, first), (up, second) = axes.items()
    options: dict[str, Any] = {"norm": norm, "cmap": "viridis", "rasterized": True}
    mesh = panel.pcolormesh(first, second, values.T, shading="nearest", **options)
    add_scale(panel, mesh)
    panel.set(title=title, xlabel=across, ylabel=up)
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


def draw_points(
    panel: Axes, points: np.ndarray, axes: Arrays, title: str, most: int = 5000
) -> None:
    """Points over the last two coordinates, or how many there are along the only one;
    of very many, as many as can be told apart."""
    if len(axes) == 1:
        panel.hist(points[:, -1], bins=50, color=DOTS)
        panel.set(title=title, xlabel=next(iter(axes)), ylabel="points")
        return
    shown = points[:most, -2:]
    if len(shown) < len(points):
        title = f"{len(shown):,} of {title}"
    panel.scatter(
        shown[:, 0], shown[:, 1], s=3, color=DOTS, linewidths=0, rasterized=True
    )
    across, up = axes
    panel.set(title=title, xlabel=across, ylabel=up)
    panel.set(xlim=_ends(axes[across]), ylim=_ends(axes[up]))
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


def keep_shape(panel: Axes, axes: Arrays) -> None:
    """Equal units along both axes, unless one is time or the panel became a strip."""
    extents = [np.ptp(axis) for axis in axes.values()]
    if "t" not in axes and max(extents) <= _LONGEST * min(extents):
        panel.set_aspect("equal")


def _ends(axis: np.ndarray) -> tuple[float, float]:
    return float(np.min(axis)), float(np.max(axis))
