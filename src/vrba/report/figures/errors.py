"""Errors of an operator over its test functions and over time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..markup import format_number
from ._base import RunFigure
from ._panels import (
    DOTS,
    STYLES,
    Arrays,
    draw_line,
    finish,
    leave_room,
    log_bins,
    new_panels,
)

ERRORS_KEY = "errors over time"
ERROR_COLUMNS = {
    "mean": "mean",
    "p50": "median",
    "p95": "95th percentile",
    "max": "largest",
}
_NUM_BINS = 40
_MARKED = {
    50: "median",
    95: "95th percentile",
    99: "99th percentile",
    100: "largest",
}


def plot_error_distribution(fields: Arrays | None) -> Figure | None:
    """Histogram of the relative errors of the test functions, and the share of
    functions with a larger error, with percentiles marked.

    None if no error is positive and finite.
    """
    errors = np.asarray((fields or {}).get("errors", ()), float)
    is_good = np.isfinite(errors) & (errors > 0)
    if not np.any(is_good):
        return None
    figure, (left, right) = new_panels(2)
    _draw_histogram(left, errors[is_good])
    _draw_tail(right, errors)
    right.set_xlim(left.get_xlim())
    return figure


def _draw_histogram(panel: Axes, errors: np.ndarray) -> None:
    panel.hist(errors, bins=log_bins(errors, _NUM_BINS), color=DOTS)
    panel.set_xscale("log")
    finish(panel, is_log=False, xlabel="relative L2 error", ylabel="functions")


def _draw_tail(panel: Axes, errors: np.ndarray) -> None:
    """Share of the functions with at least this error; NaN counts as infinite."""
    ordered = np.sort(np.where(np.isnan(errors), np.inf, errors))
    shares = np.arange(len(ordered), 0, -1) / len(ordered)
    is_good = np.isfinite(ordered) & (ordered > 0)
    panel.plot(ordered[is_good], shares[is_good], color="black", linewidth=1)
    with np.errstate(invalid="ignore"):  # between a number and infinity
        values = np.percentile(ordered, list(_MARKED))
    for (level, text), value, style in zip(
        _MARKED.items(), values, STYLES, strict=False
    ):
        share = max(1 - level / 100, 1 / len(ordered))
        if np.isfinite(value) and value > 0:
            label = f"{text}: {format_number(float(value))}"
            color, _, marker = style
            panel.plot(value, share, marker, color=color, label=label)
    panel.set_xscale("log")
    finish(panel, xlabel="relative L2 error", ylabel="share with a larger error")


def plot_errors_over_time(fields: Arrays | None) -> Figure | None:
    """Mean, percentiles and largest error of the test functions against time.

    None if the outputs have no time coordinate, or if every error is zero.
    """
    if not fields or not {ERRORS_KEY, "t"} <= fields.keys():
        return None
    errors = fields[ERRORS_KEY]
    if not np.any(errors > 0):
        return None
    figure, (panel,) = new_panels(1)
    for values, label, style in zip(
        errors.T, ERROR_COLUMNS.values(), STYLES, strict=False
    ):
        is_good = np.isfinite(values) & (values > 0)
        draw_line(panel, fields["t"][is_good], values[is_good], label, style)
    panel.set_yscale("log")
    leave_room(panel, 0.4, is_log=True)
    finish(panel, xlabel="t", ylabel="relative error at time t")
    return figure


ERROR_DISTRIBUTION = RunFigure(
    14,
    "error-distribution",
    "Errors of functions",
    "The error of each function of the test set, for the selected iterate. A long tail "
    "to the right means that the mean hides functions with a large error. Adaptive "
    "sampling of functions aims to shorten this tail.",
    lambda run: plot_error_distribution(run.fields),
)
ERRORS_OVER_TIME = RunFigure(
    16,
    "errors-over-time",
    "Error against time",
    "The root mean square error at each time, relative to the root mean square of the "
    "true function over all times. A rising line means that errors accumulate. A wide "
    "gap between the lines means that a few functions are much harder than the rest.",
    lambda run: plot_errors_over_time(run.fields),
)
