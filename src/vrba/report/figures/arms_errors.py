"""How errors spread over functions, for several methods."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._base import STYLES, draw_line, finish, new_panels

_LEVELS = {
    "p50": "50 %",
    "p95": "95 %",
    "p99": "99 %",
    "max": "largest",
}
_WIDTH = 0.08  # between arms, of the way from one level to the next


def plot_arms_errors(
    arms: Mapping[str, Sequence[Mapping[str, float]]],
) -> Figure | None:
    """How the errors of test functions spread in every arm, from half to the largest:
    the median over seeds as a line, lowest to highest as a bar. A run gives the errors
    of its result, `p50` to `max`. None if there is no run."""
    if not any(arms.values()):
        return None
    figure, (panel,) = new_panels(1)
    shifts = _WIDTH * (np.arange(len(arms)) - (len(arms) - 1) / 2)
    for (arm, runs), shift, style in zip(
        arms.items(), shifts, cycle(STYLES), strict=False
    ):
        if runs:
            values = np.array([[run[key] for key in _LEVELS] for run in runs], float)
            _draw_levels(panel, np.arange(len(_LEVELS)) + shift, values, arm, style)
    finish(
        panel,
        xlabel="share of functions below",
        ylabel="relative L2 error on the test set",
    )
    panel.set_xticks(range(len(_LEVELS)), list(_LEVELS.values()))
    return figure


def _draw_levels(
    panel: Axes, places: np.ndarray, values: np.ndarray, arm: str, style: Any
) -> None:
    draw_line(panel, places, np.median(values, axis=0), arm, style)
    ends = np.min(values, axis=0), np.max(values, axis=0)
    panel.vlines(places, *ends, color=style[0], linewidth=1.5)
