"""Residual and sampled points over the domain."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._base import RunFigure
from ._cuts import last_two_axes, middle_cut, middle_cut_text
from ._panels import Arrays, draw_map, draw_points, finish, log_sizes, new_panels

_MAX_PANELS = 6
_MAX_POINTS = 3000


def plot_residual(fields: Arrays | None) -> Figure | None:
    """The size of each equation's residual over the last two coordinates.

    None if the run stored no residual.
    """
    labels = [] if not fields else [str(one) for one in fields.get("residuals", ())]
    labels = [label for label in labels if fields and f"residual {label}" in fields]
    if not fields or not labels:
        return None
    figure, panels = new_panels(len(labels))
    for panel, label in zip(panels, labels, strict=True):
        _draw_residual(panel, fields, label)
    return figure


def _draw_residual(panel: Axes, fields: Arrays, label: str) -> None:
    axes = last_two_axes(fields)
    values, norm = log_sizes(middle_cut(fields, f"residual {label}"))
    title = f"residual of {label}{middle_cut_text(fields)}"
    if len(axes) == 2:
        draw_map(panel, axes, values, title, norm)
        return
    ((across, first),) = axes.items()
    panel.plot(first, values, color="black")
    finish(panel, title=title, xlabel=across, ylabel=f"|residual of {label}|")


def plot_drawn(
    drawn: Mapping[int, np.ndarray], fields: Arrays | None = None
) -> Figure | None:
    """The points sampled at up to six steps, the first and the last among them.

    `drawn` holds points by step. `fields` gives the names and ends of the coordinates.
    None if there are no points.
    """
    steps = sorted(step for step, points in drawn.items() if len(points))
    if not steps:
        return None
    if len(steps) > _MAX_PANELS:
        places = np.linspace(0, len(steps) - 1, _MAX_PANELS).round().astype(int)
        steps = [steps[k] for k in places]
    axes = _ends_of_axes(drawn, fields)
    figure, panels = new_panels(len(steps))
    for panel, step in zip(panels, steps, strict=True):
        points = drawn[step]
        title = f"{len(points):,} points, step {step:,}"
        draw_points(panel, points, axes, title, _MAX_POINTS)
    return figure


def _ends_of_axes(drawn: Mapping[int, np.ndarray], fields: Arrays | None) -> Arrays:
    """Names and ends of the last two coordinates."""
    points = np.concatenate(list(drawn.values()))
    names = [f"x{k + 1}" for k in range(points.shape[1])]
    if fields and "coordinates" in fields:
        names = [str(name) for name in fields["coordinates"]]
    ends = [np.array([np.min(part), np.max(part)]) for part in points.T]
    own = dict(zip(names, ends, strict=True))
    return {name: (fields or own).get(name, own[name]) for name in names[-2:]}


RESIDUAL = RunFigure(
    40,
    "residual",
    "Residual",
    "The size of each equation's residual on a logarithmic scale. Adaptivity aims at "
    "a uniform residual. Bright spots need more points, larger weights or a larger "
    "network.",
    lambda run: plot_residual(run.fields),
)
DRAWN = RunFigure(
    60,
    "drawn",
    "Sampled points",
    "The points at which the equations were evaluated, at several steps. Adaptive "
    "sampling concentrates them where the residual is large.",
    lambda run: plot_drawn(run.drawn, run.fields),
)
