"""Several methods over time and over steps."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Record = Sequence[Mapping[str, Any]]
_MOST_PLACES = 300
# From dark to light, so that they differ without colour as well.
_STYLES = (
    ("#000000", "-", "o"),
    ("#c43c4e", "--", "s"),
    ("#3b7dd8", "-.", "^"),
    ("#e08f1b", ":", "D"),
    ("#45b39d", (0, (6, 1, 1, 1, 1, 1)), "v"),
    ("#b0a3d4", (0, (8, 3)), "P"),
)


class Band(NamedTuple):
    """The median of several curves and their ends, where all of them are known."""

    places: np.ndarray
    median: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def plot_comparison(
    arms: Mapping[str, Sequence[Record]], measure: str, label: str
) -> Figure:
    """The logged `measure` of every arm, called `label`, against seconds and steps: the
    median over seeds as a line, lowest to highest as a band."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, key, name in zip(
        panels, ("seconds", "step"), ("seconds", "steps"), strict=True
    ):
        for (arm, records), style in zip(arms.items(), cycle(_STYLES), strict=False):
            _draw(panel, band(records, key, measure), arm, style)
        panel.set(yscale="log", xlabel=name)
        panel.grid(which="major", color="0.9")
    num_seeds = max(map(len, arms.values()), default=0)
    panels[0].set_ylabel(label)
    titles = {0: "nothing was logged: the runs ended too soon", 1: "one seed"}
    usual = f"median of {num_seeds} seeds, lowest to highest shaded"
    figure.suptitle(titles.get(num_seeds, usual), fontsize="medium")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        panels[1].legend(handles, labels)
    return figure


def band(records: Sequence[Record], key: str, measure: str) -> Band | None:
    """Curves brought to common places, linear in the logarithm between two of their
    own; none if there is no place that all of them reach."""
    curves = [_curve(record, key, measure) for record in records]
    curves = [curve for curve in curves if curve[0].size]
    if not curves:
        return None
    first = max(places[0] for places, _ in curves)
    last = min(places[-1] for places, _ in curves)
    own = np.unique(np.concatenate([places for places, _ in curves]))
    places = own[(own >= first) & (own <= last)]
    if not places.size:
        return None
    if places.size > _MOST_PLACES:
        places = places[np.linspace(0, places.size - 1, _MOST_PLACES).astype(int)]
    found = np.exp([np.interp(places, x, np.log(values)) for x, values in curves])
    ends = np.min(found, axis=0), np.max(found, axis=0)
    return Band(places, np.median(found, axis=0), *ends)


def _curve(record: Record, key: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the measure is known and has a logarithm."""
    known = [entry for entry in record if (entry.get(measure) or 0) > 0]
    places = np.array([entry[key] for entry in known], float)
    return places, np.array([entry[measure] for entry in known], float)


def _draw(panel: Axes, found: Band | None, arm: str, style: Any) -> None:
    if found is None:
        return
    color, line, marker = style
    panel.fill_between(
        found.places, found.lowest, found.highest, color=color, alpha=0.15, linewidth=0
    )
    every = max(len(found.places) // 8, 1)
    panel.plot(
        found.places,
        found.median,
        color=color,
        linestyle=line,
        marker=marker,
        markersize=4,
        markevery=every,
        label=arm,
    )
