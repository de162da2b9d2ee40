"""How error, residual and loss fell."""

from itertools import cycle, pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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

_CONDITION = "residual_l2 "


def plot_curves(record: Record, error_name: str = "relative L2 error") -> Figure | None:
    """Error, residual, loss and the residuals of conditions against steps, as far as
    they were logged; None if nothing was. Where the optimizer turned to its next stage
    there is a thin line. Of operators the error has a mean and a largest one."""
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
        _mark_turns(panel, record)
        finish(panel, xlabel="steps", ylabel=label)
    return figure


def _mark_turns(panel: Axes, record: Record) -> None:
    """Where the optimizer's stage changes."""
    for before, after in pairwise(record):
        if before.get("stage") != after.get("stage"):
            middle = (before["step"] + after["step"]) / 2
            panel.axvline(middle, color="0.5", linewidth=1, linestyle=(0, (1, 2)))


CURVES = RunFigure(
    20,
    "curves",
    "Curves",
    "All on logarithmic scales, so that a straight line down is steady progress and a "
    "flat one is none; residuals are measured on points, and validation errors on "
    "functions, that are never trained on. A dotted vertical line marks where one "
    "optimizer handed over to the next.",
    lambda run: plot_curves(run.record, run.error_name),
)
