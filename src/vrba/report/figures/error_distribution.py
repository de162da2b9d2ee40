"""How the errors of an operator spread over test functions."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..tables import format_number
from ._base import DOTS, STYLES, Arrays, RunFigure, finish, new_panels

_NUM_BINS = 40
_MARKED = {50: "50 % below", 95: "95 % below", 99: "99 % below", 100: "largest"}


def plot_error_distribution(fields: Arrays | None) -> Figure | None:
    """The relative errors of test functions: how many there are of each size, and which
    share is larger, with percentiles marked. None if there are none that a logarithmic
    scale can show."""
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
    lowest, highest = np.log10(np.min(errors)), np.log10(np.max(errors))
    margin = max(0.02 * (highest - lowest), 0.02)
    bins = np.logspace(lowest - margin, highest + margin, _NUM_BINS + 1)
    panel.hist(errors, bins=list(bins), color=DOTS)
    panel.set_xscale("log")
    labels = {"xlabel": "relative L2 error", "ylabel": "functions"}
    finish(panel, is_log=False, **labels)


def _draw_tail(panel: Axes, errors: np.ndarray) -> None:
    """Which share of the functions has at least this error; what is not finite is
    larger than any."""
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


ERROR_DISTRIBUTION = RunFigure(
    14,
    "error-distribution",
    "Errors of functions",
    "One error for each function of the test set, of the selected iterate: a long "
    "tail to the right means that the mean hides functions that are met badly, which "
    "is what adaptivity over functions is to mend.",
    lambda run: plot_error_distribution(run.fields),
)
