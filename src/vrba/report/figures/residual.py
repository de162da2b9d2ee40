"""Where the equations are not met yet."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._base import (
    Arrays,
    RunFigure,
    cut,
    draw_map,
    finish,
    new_panels,
    place_of_cut,
    shown_axes,
)
from .scales import log_sizes


def plot_residual(fields: Arrays | None) -> Figure | None:
    """The size of the residual of each equation over the last two coordinates. None if
    the run did not keep it."""
    labels = [] if not fields else [str(one) for one in fields.get("residuals", ())]
    labels = [label for label in labels if fields and f"residual {label}" in fields]
    if not fields or not labels:
        return None
    figure, panels = new_panels(len(labels))
    for panel, label in zip(panels, labels, strict=True):
        _draw(panel, fields, label)
    return figure


def _draw(panel: Axes, fields: Arrays, label: str) -> None:
    axes = shown_axes(fields)
    values, norm = log_sizes(cut(fields, f"residual {label}"))
    title = f"residual of {label}{place_of_cut(fields)}"
    if len(axes) == 2:
        draw_map(panel, axes, values, title, norm)
        return
    ((across, first),) = axes.items()
    panel.plot(first, values, color="black")
    finish(panel, title=title, xlabel=across, ylabel=f"|residual of {label}|")


RESIDUAL = RunFigure(
    40,
    "residual",
    "Residual",
    "How far each equation is from being met, on a logarithmic scale: an even map is "
    "what adaptivity aims at; bright spots are where the network needs more points, "
    "more weight, or more freedom.",
    lambda run: plot_residual(run.fields),
)
