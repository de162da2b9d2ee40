"""Histogram and map of the weights of the pool."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import RunFigure
from ._cuts import last_two_axes
from ._panels import (
    DOTS,
    Arrays,
    add_colorbar,
    ends_of,
    finish,
    keep_shape,
    log_bins,
    new_panels,
    thin_ticks,
)

_NUM_BINS = 50
_MAX_HEXAGONS = 40  # in a row


def plot_weights(fields: Arrays | None) -> Figure | None:
    """Weights of the pool relative to uniform: histogram, and map over the last two
    coordinates.

    None if the run stored no weights, or if none is positive and finite.
    """
    if not fields or not {"pool points", "pool weights"} <= fields.keys():
        return None
    weights, points = fields["pool weights"], fields["pool points"]
    is_good = np.isfinite(weights) & (weights > 0)
    if not np.any(is_good):
        return None
    figure, (left, right) = new_panels(2)
    _draw_histogram(left, weights[is_good])
    _draw_mean_weight(right, points[is_good], weights[is_good], last_two_axes(fields))
    return figure


def _draw_histogram(panel: Axes, weights: np.ndarray) -> None:
    panel.hist(weights, bins=log_bins(weights, _NUM_BINS), color=DOTS)
    panel.axvline(1.0, color="black", linewidth=1, linestyle="--", label="uniform")
    panel.set_xscale("log")
    finish(panel, xlabel="weight relative to uniform", ylabel="points")


def _draw_mean_weight(
    panel: Axes, points: np.ndarray, weights: np.ndarray, axes: Arrays
) -> None:
    """Mean weight of the points in each hexagon, or in each interval of a line."""
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
        gridsize=int(np.clip(np.sqrt(len(points)) / 3, 10, _MAX_HEXAGONS)),
        norm=LogNorm(),
        cmap="viridis",
        linewidths=0.2,
        rasterized=True,
    )
    add_colorbar(panel, cells)
    panel.set(title=title, xlabel=across, ylabel=up)
    panel.set(xlim=ends_of(axes[across]), ylim=ends_of(axes[up]))
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)


WEIGHTS = RunFigure(
    50,
    "weights",
    "Weights",
    "A narrow histogram around 1 means little adaptivity. A long tail to the right "
    "means that few points dominate the loss. The mean weight should be large where "
    "the residual is large.",
    lambda run: plot_weights(run.fields),
)
