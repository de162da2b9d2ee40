"""Test functions of an operator, from the worst to the median one."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ..tables import format_number
from ._base import (
    STYLES,
    Arrays,
    RunFigure,
    draw_map,
    finish,
    leave_room,
    new_grid,
    thin_ticks,
)
from ._functions import Cut, cuts_of, draw_over, output_axes
from .scales import log_sizes

_COLUMNS = 3
Row = list[Callable[[Axes], None]]


def plot_functions(fields: Arrays | None) -> Figure | None:
    """Input, truth, prediction and error of up to three test functions: the worst one
    and the last two that the run kept, at 95 % and in the middle.

    Outputs over one coordinate are lines, over two maps; of more see `cuts_of`. Of
    several channels the one with the largest error is shown. None if no functions were
    kept.
    """
    wanted = ("ids", "errors", "inputs", "outputs", "truth")
    has_all = fields and {f"shown {name}" for name in wanted} <= fields.keys()
    if not fields or not has_all or not len(fields["shown ids"]):
        return None
    number = len(fields["shown ids"])
    chosen = sorted({0, max(number - 2, 0), number - 1})
    is_line = len(output_axes(fields)) == 1
    rows = (_lines if is_line else _maps)(fields, chosen)
    figure, grid = new_grid(len(rows), _COLUMNS)
    for panels, row in zip(grid, rows, strict=True):
        for panel, draw in zip(panels, row, strict=False):
            draw(panel)
        for panel in panels[len(row) :]:
            panel.remove()
    return figure


def _lines(fields: Arrays, chosen: list[int]) -> list[Row]:
    """A row for each function."""
    ((across, places),) = output_axes(fields).items()
    order = np.argsort(places)
    channel = _worst_channel(fields)
    rows: list[Row] = []
    for k in chosen:
        both = [
            fields[key][k, ..., channel][order]
            for key in ("shown outputs", "shown truth")
        ]
        output = partial(_draw_both, across, places[order], both, _title(fields, k, ""))
        error = partial(_draw_error, across, places[order], both, _title(fields, k, ""))
        rows.append([_input(fields, k), output, error])
    return rows


def _maps(fields: Arrays, chosen: list[int]) -> list[Row]:
    """A row of inputs, and below for each function a row for each time shown."""
    channel = _worst_channel(fields)
    rows: list[Row] = [[_input(fields, k) for k in chosen]]
    for k in chosen:
        found = fields["shown outputs"][k, ..., channel]
        true = fields["shown truth"][k, ..., channel]
        for cut in cuts_of(fields, found - true):
            rows.append(_map_row(cut, found, true, _title(fields, k, cut.place)))
    return rows


def _map_row(cut: Cut, found: np.ndarray, true: np.ndarray, name: str) -> Row:
    """Truth and prediction on one scale, and the error."""
    found, true = found[cut.ids], true[cut.ids]
    known = true[np.isfinite(true)]
    top = float(np.max(np.abs(known), initial=0.0))
    ends = (float(np.min(known)), float(np.max(known))) if known.size else (0.0, 1.0)
    error, scale = log_sizes(found - true, top)
    shown = {
        "truth": (true, Normalize(*ends)),
        "prediction": (found, Normalize(*ends)),
        "error": (error, scale),
    }
    return [
        partial(
            draw_over, axes=cut.axes, values=values, title=f"{what} {name}", norm=norm
        )
        for what, (values, norm) in shown.items()
    ]


def _worst_channel(fields: Arrays) -> int:
    """The one whose error is largest, relative to the channel, over what is shown."""
    found, true = fields["shown outputs"], fields["shown truth"]
    over = tuple(range(true.ndim - 1))
    size = np.mean(true**2, axis=over)
    error = np.mean((found - true) ** 2, axis=over)
    return int(np.argmax(np.nan_to_num(error / np.where(size > 0, size, 1.0))))


def _title(fields: Arrays, k: int, place: str) -> str:
    """Which function, which of several channels, and where it is cut."""
    parts = [str(fields["shown ids"][k])]
    if fields["shown truth"].shape[-1] > 1:
        parts.append(f"channel {_worst_channel(fields) + 1}")
    return ", ".join([*parts, place] if place else parts)


def _input(fields: Arrays, k: int) -> Callable[[Axes], None]:
    """The input, with how well its function is met."""
    error = format_number(float(fields["shown errors"][k]))
    title = f"input {fields['shown ids'][k]}: error {error}"
    return partial(_draw_input, fields["shown inputs"][k], title)


def _draw_input(values: np.ndarray, title: str, panel: Axes) -> None:
    """Numbers, lines or a map by place; the last of what has more than two axes, and
    of a map the first channel."""
    while values.ndim > 3:
        values = values[-1]
    if values.ndim == 3:
        axes = {f"input axis {k + 1}": np.arange(n) for k, n in enumerate(values.shape)}
        axes.popitem()
        draw_map(panel, axes, values[..., 0], title)
        return
    across = "input point"
    if values.ndim == 1:
        panel.plot(np.arange(len(values)), values, "o", color="black")
        across = "input number"
    else:
        for number, (line, style) in enumerate(zip(values.T, STYLES, strict=False)):
            label = f"channel {number + 1}" if values.shape[1] > 1 else "_"
            panel.plot(line, color=style[0], linestyle=style[1], label=label)
    finish(panel, is_log=False, title=title, xlabel=across, ylabel="input")


def _draw_both(
    across: str, places: np.ndarray, both: list[np.ndarray], name: str, panel: Axes
) -> None:
    panel.plot(places, both[0], color="black", label="prediction")
    panel.plot(places, both[1], color="0.6", linestyle="--", label="truth")
    leave_room(panel, 0.2, is_log=False)
    title = f"output {name}"
    finish(panel, is_log=False, title=title, xlabel=across, ylabel="output")


def _draw_error(
    across: str, places: np.ndarray, both: list[np.ndarray], name: str, panel: Axes
) -> None:
    top = float(np.max(np.abs(both[1]), initial=0.0))
    values, norm = log_sizes(both[0] - both[1], top)
    panel.semilogy(places, values, color="black")
    panel.set(title=f"error {name}", xlabel=across, ylabel="|error|")
    panel.set_ylim(norm.vmin, 2 * (norm.vmax or 1.0))
    thin_ticks(panel.xaxis, panel.yaxis)
    panel.grid(which="major", color="0.5", alpha=0.25)


FUNCTIONS = RunFigure(
    12,
    "functions",
    "Functions of the test set",
    "The function with the largest error, one that 95 % are better than, and the "
    "median one, by their numbers in the test set; of the selected iterate. Truth and "
    "prediction share a scale, the size of the error has a logarithmic one. Where time "
    "is cut, it is at its end and where the error of the function is largest.",
    lambda run: plot_functions(run.fields),
)
