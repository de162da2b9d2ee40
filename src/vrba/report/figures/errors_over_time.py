"""How the error of an operator grows with time."""

import numpy as np
from matplotlib.figure import Figure

from ._base import STYLES, Arrays, RunFigure, draw_line, finish, leave_room, new_panels

KEY = "errors over time"
COLUMNS = {
    "mean": "mean",
    "p50": "half below",
    "p95": "95 % below",
    "max": "largest",
}


def plot_errors_over_time(fields: Arrays | None) -> Figure | None:
    """Mean, percentiles and largest error of the test functions against time. None if
    the outputs have no time, or are met to the last digit."""
    if not fields or not {KEY, "t"} <= fields.keys() or not np.any(fields[KEY] > 0):
        return None
    figure, (panel,) = new_panels(1)
    for values, label, style in zip(
        fields[KEY].T, COLUMNS.values(), STYLES, strict=False
    ):
        is_good = np.isfinite(values) & (values > 0)
        draw_line(panel, fields["t"][is_good], values[is_good], label, style)
    panel.set_yscale("log")
    leave_room(panel, 0.4, is_log=True)
    finish(panel, xlabel="t", ylabel="relative error at a time")
    return figure


ERRORS_OVER_TIME = RunFigure(
    16,
    "errors-over-time",
    "Error against time",
    "The root mean square of the error at each time, relative to that of the true "
    "function over all times: a line that rises tells that errors pile up, a wide gap "
    "between the lines that a few functions are much harder than the rest.",
    lambda run: plot_errors_over_time(run.fields),
)
