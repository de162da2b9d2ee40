"""How uneven the weights are, and where they are large."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import (
    DOTS,
    Arrays,
    RunFigure,
    add_scale,
    finish,
    keep_shape,
    new_panels,
    shown_axes,
    thin_ticks,
)

_NUM_BINS = 50
_MOST_HEXAGONS = 40  # side by side


def plot_weights(fields: Arrays | None) -> Figure | None:
    """The weights of the pool relative to uniform: how many there are of each size, and
    where they are, over the last two coordinates. None if the run did not keep them."""
    if not fields or not {"pool points", "pool weights"} <= fields.keys():
        return None
    weights, points = fields["pool weights"], fields["pool points"]
    is_good = np.isfinite(weights) & (weights > 0)
    if not np.any(is_good):
        return None
    figure, (left, right) = new_panels(2)
    _draw_histogram(left, weights[is_good])
    _draw_places(right, points[is_good], weights[is_good], shown_axes(fields))
    return figure


def _draw_histogram(panel: Axes, weights: np.ndarray) -> None:
    lowest, highest = np.log10(np.min(weights)), np.log10(np.max(weights))
    margin = max(0.02 * (highest - lowest), 0.02)
    bins = np.logspace(lowest - margin, highest + margin, _NUM_BINS + 1)
    panel.hist(weights, bins=list(bins), color=DOTS)
    panel.axvline(1.0, color="black", linewidth=1, linestyle="--", label="uniform")
    panel.set_xscale("log")
    finish(panel, xlabel="weight relative to uniform", ylabel="points")


def _draw_places(
    panel: Axes, points: np.ndarray, weights: np.ndarray, axes: Arrays
) -> None:
    """The mean weight of the points of a hexagon, or of a stretch of a line."""
    title = "mean weight relative to uniform"
    if len(axes) == 1:
        ((across, _),) = axes.items()
        sums, edges = np.histogram(points[:, -1], _NUM_BINS, weights=weights)
        counts, _ = np.histogram(points[:, -1], edges)
        is_known = counts > 0
        middles = ((edges[1:] + edges[:-1]) / 2)[is_known]
        panel.plot(middles, sums[is_known] / counts[is_known], color="black")
        finish(panel, xlabel=across, ylabel=title)
        return
    across, up = axes
    cells = panel.hexbin(
        points[:, -2],
        points[:, -1],
        weights,
        gridsize=int(np.clip(np.sqrt(len(points)) / 3, 10, _MOST_HEXAGONS)),
        norm=LogNorm(),
        cmap="viridis",
        linewidths=0.2,
        rasterized=True,
    )
    add_scale(panel, cells)
    panel.set(title=title, xlabel=across, ylabel=up)
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


WEIGHTS = RunFigure(
    50,
    "weights",
    "Weights",
    "A narrow histogram about 1 means that adaptivity hardly acts, a long tail to the "
    "right that few points carry the loss; the map shows where these are, which should "
    "be where the residual is large.",
    lambda run: plot_weights(run.fields),
)
