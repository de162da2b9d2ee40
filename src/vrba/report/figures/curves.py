"""Curves over the steps of a run: error, residual, loss and learning dynamics."""

from itertools import cycle, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...diagnose import find_stages
from ._base import RunFigure
from ._panels import (
    STYLES,
    Record,
    draw_line,
    finish,
    has_any,
    new_panels,
    values_of,
)

_CONDITION = "residual_l2 "
_STAGE_SHADES = {"fitting": 0.05, "transition": 0.15, "diffusion": 0.25}


def plot_curves(record: Record, error_name: str = "relative L2 error") -> Figure | None:
    """Error, residual, loss and the residuals of conditions against steps.

    A dotted vertical line marks a change of the optimizer. The error of an operator
    has a mean and a largest value. None if nothing was logged.
    """
    conditions = sorted(
        {k for entry in record for k in entry if k.startswith(_CONDITION)}
    )
    has_largest = has_any(record, "error_max")
    errors = {"error": "mean", "error_max": "largest"} if has_largest else {"error": ""}
    groups = {
        error_name: errors,
        "residual on held-out points": {
            "residual_l2": "root mean square",
            "residual_max": "largest",
        },
        "loss": {"loss": ""},
        "residual of conditions": {k: k.removeprefix(_CONDITION) for k in conditions},
    }
    known = {label: part for label, part in groups.items() if has_any(record, *part)}
    if not known:
        return None
    figure, panels = new_panels(len(known), num_columns=2)
    for panel, (label, part) in zip(panels, known.items(), strict=True):
        for (measure, name), style in zip(part.items(), cycle(STYLES), strict=False):
            draw_line(panel, *values_of(record, measure), name or "_", style)
        _mark_optimizer_changes(panel, record)
        finish(panel, xlabel="steps", ylabel=label)
    return figure


def _mark_optimizer_changes(panel: Axes, record: Record) -> None:
    for before, after in pairwise(record):
        if before.get("stage") != after.get("stage"):
            middle = (before["step"] + after["step"]) / 2
            panel.axvline(middle, color="0.5", linewidth=1, linestyle=(0, (1, 2)))


def plot_dynamics(record: Record) -> Figure | None:
    """Variance of the squared residual and gradient signal-to-noise ratio over steps.

    The ratio has a band of one standard error and the value of pure noise. Stages of
    learning are shaded. None if the run logged no diagnostics.
    """
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
    names = {
        "variance_r2": "base distribution",
        "variance_r2_tilted": "tilted distribution",
    }
    for (measure, name), style in zip(names.items(), STYLES, strict=False):
        if has_any(record, measure):
            draw_line(panel, *values_of(record, measure), name, style)
    finish(panel, xlabel="steps", ylabel="variance of squared residual")


def _draw_snr(panel: Axes, record: Record) -> None:
    places, ratio = values_of(record, "snr")
    known = [entry for entry in record if (entry.get("snr") or 0) > 0]
    error = np.array([entry.get("snr_error") or 0.0 for entry in known], float)
    color = STYLES[0][0]
    lower = np.maximum(ratio - error, ratio / 10)  # positive, for the logarithm
    panel.fill_between(
        places, lower, ratio + error, color="0.5", alpha=0.3, linewidth=0
    )
    draw_line(panel, places, ratio, "gradient, ± standard error", STYLES[0])
    if has_any(record, "snr_unit"):
        unit = values_of(record, "snr_unit")
        draw_line(panel, *unit, "normalised gradients", STYLES[2])
    if has_any(record, "snr_floor"):
        floor = values_of(record, "snr_floor")
        panel.plot(*floor, color=color, linestyle=":", label="pure noise")
    finish(panel, xlabel="steps", ylabel="gradient signal-to-noise")


def _shade_stages(panel: Axes, record: Record) -> None:
    """Shade each stage up to the start of the next, with its name above the panel."""
    stages = find_stages(record)
    lasts = [stage.first_step for stage in stages[1:]] + [
        s.last_step for s in stages[-1:]
    ]
    for stage, last in zip(stages, lasts, strict=True):
        first = stage.first_step
        shade = _STAGE_SHADES.get(stage.name, 0.1)
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


CURVES = RunFigure(
    20,
    "curves",
    "Curves",
    "All scales are logarithmic: a flat line means no progress. Residuals are measured "
    "on held-out points, validation errors on held-out functions. A dotted vertical "
    "line marks a change of the optimizer.",
    lambda run: plot_curves(run.record, run.error_name),
)
DYNAMICS = RunFigure(
    30,
    "dynamics",
    "Learning dynamics",
    "The tilted distribution is the one that adaptivity gives the points. The "
    "signal-to-noise ratio measures how well the gradients of different points agree: "
    "near the dotted line of pure noise, steps are random. Shaded bands are the stages "
    "of learning: fitting (gradients agree), transition (gradients disagree most), "
    "diffusion (gradients agree again, and the variance of the residual falls).",
    lambda run: plot_dynamics(run.record),
)
