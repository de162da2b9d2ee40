"""Several methods over time and over steps."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._base import (
    STYLES,
    Record,
    draw_line,
    finish,
    has_any,
    new_panels,
    values_of,
)

Arms = Mapping[str, Sequence[Record]]

_MOST_PLACES = 300
_AXES = {"seconds": "seconds", "step": "steps"}


class Band(NamedTuple):
    """The median of several curves and their ends, where all of them are known."""

    places: np.ndarray
    median: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def plot_comparison(arms: Arms, measure: str, label: str) -> Figure | None:
    """The logged `measure` of every arm, called `label`, against seconds and steps: the
    median over seeds as a line, lowest to highest as a band. None if nothing was
    logged."""
    if not any(has_any(record, measure) for runs in arms.values() for record in runs):
        return None
    figure, panels = new_panels(2)
    for panel, (key, name) in zip(panels, _AXES.items(), strict=True):
        draw_arms(panel, arms, key, measure)
        finish(panel, xlabel=name, ylabel=label)
    lowest, highest = zip(*(panel.get_ylim() for panel in panels), strict=True)
    panels[1].sharey(panels[0])
    panels[0].set_ylim(min(lowest), max(highest))
    figure.suptitle(_about_seeds(arms), fontsize="medium")
    return figure


def draw_arms(panel: Axes, arms: Arms, key: str, measure: str) -> None:
    """A line and a band for each arm that has logged the measure."""
    for arm, style in styles_of(arms).items():
        _draw(panel, band(arms[arm], key, measure), arm, style)


def styles_of(arms: Arms) -> dict[str, Any]:
    """Colour, line and marker of each arm."""
    return dict(zip(arms, cycle(STYLES), strict=False))


def band(records: Sequence[Record], key: str, measure: str) -> Band | None:
    """Curves brought to common places, linear in the logarithm between two of their
    own; none if there is no place that all of them reach."""
    curves = [values_of(record, measure, key) for record in records]
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


def _about_seeds(arms: Arms) -> str:
    num_seeds = max(map(len, arms.values()))
    usual = f"median of {num_seeds} seeds, lowest to highest shaded"
    return "one seed" if num_seeds == 1 else usual


def _draw(panel: Axes, found: Band | None, arm: str, style: Any) -> None:
    if found is None:
        return
    panel.fill_between(
        found.places,
        found.lowest,
        found.highest,
        color=style[0],
        alpha=0.15,
        linewidth=0,
    )
    draw_line(panel, found.places, found.median, arm, style)
