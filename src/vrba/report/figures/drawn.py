"""Where points were drawn, over time."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ._base import Arrays, RunFigure, draw_points, new_panels

_MOST_PANELS = 6
_MOST_POINTS = 3000


def plot_drawn(
    drawn: Mapping[int, np.ndarray], fields: Arrays | None = None
) -> Figure | None:
    """The points drawn at some steps, up to six of them from first to last; with the
    names and ends of the coordinates if `fields` are given. None if there are none."""
    steps = sorted(step for step, points in drawn.items() if len(points))
    if not steps:
        return None
    if len(steps) > _MOST_PANELS:
        places = np.linspace(0, len(steps) - 1, _MOST_PANELS).round().astype(int)
        steps = [steps[k] for k in places]
    axes = _axes(drawn, fields)
    figure, panels = new_panels(len(steps))
    for panel, step in zip(panels, steps, strict=True):
        points = drawn[step]
        title = f"{len(points):,} points, step {step:,}"
        draw_points(panel, points, axes, title, _MOST_POINTS)
    return figure


def _axes(drawn: Mapping[int, np.ndarray], fields: Arrays | None) -> Arrays:
    """Names and ends of the last two coordinates."""
    every = np.concatenate(list(drawn.values()))
    names = [f"x{k + 1}" for k in range(every.shape[1])]
    if fields and "coordinates" in fields:
        names = [str(name) for name in fields["coordinates"]]
    ends = [np.array([np.min(part), np.max(part)]) for part in every.T]
    own = dict(zip(names, ends, strict=True))
    return {name: (fields or own).get(name, own[name]) for name in names[-2:]}


DRAWN = RunFigure(
    60,
    "drawn",
    "Drawn points",
    "Where the points of the equations were drawn at some steps: they gather where the "
    "residual is large, and spread out again once it is even.",
    lambda run: plot_drawn(run.drawn, run.fields),
)
