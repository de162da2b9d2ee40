"""Why it trains or stalls: residual variance, signal-to-noise, stages of learning."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...diagnose import find_stages
from ._base import (
    STYLES,
    Record,
    RunFigure,
    draw_line,
    finish,
    has_any,
    new_panels,
    values_of,
)

_SHADES = {"fitting": 0.05, "transition": 0.15, "diffusion": 0.25}


def plot_dynamics(record: Record) -> Figure | None:
    """The variance of the squared residual and the gradient's signal-to-noise ratio
    with one standard error and the value of pure noise, against steps; stages of
    learning shaded. None if the run was not diagnosed."""
    known = [
        (measure, draw)
        for measure, draw in (("variance_r2", _draw_variance), ("snr", _draw_snr))
        if has_any(record, measure)
    ]
    if not known:
        return None
    figure, panels = new_panels(len(known))
    for panel, (_, draw) in zip(panels, known, strict=True):
        draw(panel, record)
        _shade_stages(panel, record)
    return figure


def _draw_variance(panel: Axes, record: Record) -> None:
    names = {"variance_r2": "before the tilt", "variance_r2_tilted": "after it"}
    for (measure, name), style in zip(names.items(), STYLES, strict=False):
        if has_any(record, measure):
            draw_line(panel, *values_of(record, measure), name, style)
    finish(panel, xlabel="steps", ylabel="variance of squared residual")


def _draw_snr(panel: Axes, record: Record) -> None:
    places, ratio = values_of(record, "snr")
    known = [entry for entry in record if (entry.get("snr") or 0) > 0]
    error = np.array([entry.get("snr_error") or 0.0 for entry in known], float)
    color = STYLES[0][0]
    lower = np.maximum(ratio - error, ratio / 10)  # a logarithm is needed
    panel.fill_between(
        places, lower, ratio + error, color="0.5", alpha=0.3, linewidth=0
    )
    draw_line(panel, places, ratio, "gradient, with standard error", STYLES[0])
    if has_any(record, "snr_unit"):
        unit = values_of(record, "snr_unit")
        draw_line(panel, *unit, "of gradients of unit length", STYLES[2])
    if has_any(record, "snr_floor"):
        floor = values_of(record, "snr_floor")
        panel.plot(*floor, color=color, linestyle=":", label="pure noise")
    finish(panel, xlabel="steps", ylabel="gradient signal-to-noise")


def _shade_stages(panel: Axes, record: Record) -> None:
    """Bands with their names, above the panel where nothing else is; each ends where
    the next one begins."""
    stages = find_stages(record)
    lasts = [stage.first_step for stage in stages[1:]] + [
        s.last_step for s in stages[-1:]
    ]
    for stage, last in zip(stages, lasts, strict=True):
        first = stage.first_step
        shade = _SHADES.get(stage.name, 0.1)
        panel.axvspan(first, last, color="0.5", alpha=shade, linewidth=0, zorder=0)
        panel.text(
            (first + last) / 2,
            1.01,
            stage.name,
            transform=panel.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize="small",
        )


DYNAMICS = RunFigure(
    30,
    "dynamics",
    "Dynamics of learning",
    "The ratio tells how far gradients of different points agree: well above the "
    "dotted line of pure noise each step is progress, near it steps are chance. Shaded "
    "bands are the stages of learning: fitting (they agree), transition (they disagree "
    "most), diffusion (they agree again, as the residual has become even and its "
    "variance falls).",
    lambda run: plot_dynamics(run.record),
)
