"""Several methods on shared panels, with their spread over seeds.

`methods` holds for each method, by name, what each of its seeds logged or stored.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._panels import (
    STYLES,
    Arrays,
    Record,
    draw_line,
    finish,
    has_any,
    new_panels,
    values_of,
)
from .errors import ERROR_COLUMNS, ERRORS_KEY

MethodRecords = Mapping[str, Sequence[Record]]
Curve = Sequence[Sequence[int | float]]

_MAX_PLACES = 300
_AXES = {"seconds": "seconds", "step": "steps"}
_DYNAMICS = {
    "variance_r2": "variance of squared residual",
    "snr": "gradient signal-to-noise",
    "snr_unit": "signal-to-noise, normalised gradients",
}
_LEVELS = {"p50": "50 %", "p95": "95 %", "p99": "99 %", "max": "100 %"}
_SHIFT = 0.08  # between methods, relative to the distance of two levels
_OVER_TIME = {"mean": "mean error at time t", "max": "largest error at time t"}


class Band(NamedTuple):
    """Median, lowest and highest of several curves at the places they share."""

    places: np.ndarray
    median: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def plot_comparison(methods: MethodRecords, measure: str, label: str) -> Figure | None:
    """The logged `measure` of each method, called `label`, over seconds and steps.

    The median over seeds is a line, lowest to highest a band. An axis along which the
    seeds of no method overlap is left out. None if nothing was logged.
    """
    known = {
        key: name
        for key, name in _AXES.items()
        if any(band(runs, key, measure) for runs in methods.values())
    }
    if not known:
        return None
    figure, panels = new_panels(len(known))
    for panel, (key, name) in zip(panels, known.items(), strict=True):
        _draw_bands(panel, methods, key, measure)
        finish(panel, xlabel=name, ylabel=label)
    lowest, highest = zip(*(panel.get_ylim() for panel in panels), strict=True)
    panels[-1].sharey(panels[0])
    panels[0].set_ylim(min(lowest), max(highest))
    figure.suptitle(_seeds_text(methods), fontsize="medium")
    return figure


def plot_methods_dynamics(methods: MethodRecords) -> Figure | None:
    """Residual variance and gradient signal-to-noise ratio of each method over steps.

    The ratio is also shown with normalised gradients, as published. None if no run
    logged diagnostics.
    """
    logged = [entry for runs in methods.values() for run in runs for entry in run]
    known = {name: text for name, text in _DYNAMICS.items() if has_any(logged, name)}
    if not known:
        return None
    figure, panels = new_panels(len(known))
    for panel, (measure, label) in zip(panels, known.items(), strict=True):
        _draw_bands(panel, methods, "step", measure)
        finish(panel, xlabel="steps", ylabel=label)
    return figure


def plot_published(
    methods: MethodRecords, label: str, curves: Mapping[str, Curve]
) -> Figure:
    """The error of each method, called `label`, over steps, beside published curves.

    `curves` holds pairs of step and error by method, drawn thin in its style.
    """
    figure, (panel,) = new_panels(1)
    _draw_bands(panel, methods, "step", "error")
    thin: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.7}
    for method, (color, line, _) in _styles_of(methods).items():
        if method in curves:
            steps, values = np.asarray(curves[method], float).T
            panel.plot(steps, values, color=color, linestyle=line, **thin)
    panel.plot([], [], color="0.5", label="thin: published", **thin)
    finish(panel, xlabel="steps", ylabel=label)
    return figure


def plot_methods_errors(
    methods: Mapping[str, Sequence[Mapping[str, float]]],
) -> Figure | None:
    """Percentiles of the errors of test functions for each method.

    A run gives the errors of its result, `p50` to `max`. The median over seeds is a
    line, lowest to highest a bar. None if there is no run.
    """
    if not any(methods.values()):
        return None
    figure, (panel,) = new_panels(1)
    shifts = _SHIFT * (np.arange(len(methods)) - (len(methods) - 1) / 2)
    for (method, style), shift in zip(_styles_of(methods).items(), shifts, strict=True):
        if methods[method]:
            places = np.arange(len(_LEVELS)) + shift
            values = np.array(
                [[run[key] for key in _LEVELS] for run in methods[method]]
            )
            draw_line(panel, places, np.median(values, axis=0), method, style)
            ends = np.min(values, axis=0), np.max(values, axis=0)
            panel.vlines(places, *ends, color=style[0], linewidth=1.5)
    finish(
        panel,
        xlabel="percentile of the test functions",
        ylabel="relative L2 error on the test set",
    )
    panel.set_xticks(range(len(_LEVELS)), list(_LEVELS.values()))
    return figure


def plot_methods_over_time(methods: Mapping[str, Sequence[Arrays]]) -> Figure | None:
    """Mean and largest error of test functions against time for each method.

    A run gives `t` and `errors over time`. Lines are medians over the seeds whose
    times agree with those of the first run. None if no run has both.
    """
    wanted = {ERRORS_KEY, "t"}
    known = {
        method: [r for r in runs if wanted <= r.keys()]
        for method, runs in methods.items()
    }
    every = [run for runs in known.values() for run in runs]
    if not every:
        return None
    times = every[0]["t"]
    figure, panels = new_panels(len(_OVER_TIME))
    for panel, (column, label) in zip(panels, _OVER_TIME.items(), strict=True):
        place = list(ERROR_COLUMNS).index(column)
        for method, style in _styles_of(known).items():
            same = [
                run[ERRORS_KEY][:, place]
                for run in known[method]
                if np.array_equal(run["t"], times)
            ]
            if same:
                draw_line(panel, times, np.median(same, axis=0), method, style)
        finish(panel, xlabel="t", ylabel=label)
    return figure


def _draw_bands(panel: Axes, methods: MethodRecords, key: str, measure: str) -> None:
    """Draw median and band of each method that logged the measure."""
    for method, style in _styles_of(methods).items():
        found = band(methods[method], key, measure)
        if found is not None:
            panel.fill_between(
                found.places,
                found.lowest,
                found.highest,
                color=style[0],
                alpha=0.15,
                linewidth=0,
            )
            draw_line(panel, found.places, found.median, method, style)


def _styles_of(methods: Mapping[str, Any]) -> dict[str, Any]:
    """Colour, line and marker of each method."""
    return dict(zip(methods, cycle(STYLES), strict=False))


def band(records: Sequence[Record], key: str, measure: str) -> Band | None:
    """Interpolate curves, linearly in the logarithm, to the places that all reach.

    None if there is no such place.
    """
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
    if places.size > _MAX_PLACES:
        places = places[np.linspace(0, places.size - 1, _MAX_PLACES).astype(int)]
    values = np.exp([np.interp(places, x, np.log(y)) for x, y in curves])
    ends = np.min(values, axis=0), np.max(values, axis=0)
    return Band(places, np.median(values, axis=0), *ends)


def _seeds_text(methods: MethodRecords) -> str:
    num_seeds = max(map(len, methods.values()))
    spread = f"median of {num_seeds} seeds, lowest to highest shaded"
    return "one seed" if num_seeds == 1 else spread
