"""How the error grows with time, for several methods."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from ._base import STYLES, Arrays, draw_line, finish, new_panels
from .errors_over_time import COLUMNS, KEY

_SHOWN = {"mean": "mean error at a time", "max": "largest error at a time"}


def plot_arms_over_time(arms: Mapping[str, Sequence[Arrays]]) -> Figure | None:
    """The mean and the largest error of test functions against time, of every arm: the
    median over seeds. A run gives `t` and its errors over time; those at other times
    than the first one's are left out. None if there are none."""
    wanted = {KEY, "t"}
    known = {arm: [r for r in runs if wanted <= r.keys()] for arm, runs in arms.items()}
    every = [run for runs in known.values() for run in runs]
    if not every:
        return None
    times = every[0]["t"]
    figure, panels = new_panels(len(_SHOWN))
    for panel, (column, label) in zip(panels, _SHOWN.items(), strict=True):
        place = list(COLUMNS).index(column)
        for (arm, runs), style in zip(known.items(), cycle(STYLES), strict=False):
            same = [
                run[KEY][:, place] for run in runs if np.array_equal(run["t"], times)
            ]
            if same:
                draw_line(panel, times, np.median(same, axis=0), arm, style)
        finish(panel, xlabel="t", ylabel=label)
    return figure
