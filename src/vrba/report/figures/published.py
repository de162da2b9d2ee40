"""What was published, beside what came out here."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ._base import STYLES, finish, new_panels
from .comparison import Arms, draw_arms

Curve = Sequence[Sequence[int | float]]


def plot_published(
    arms: Arms, measure: str, label: str, curves: Mapping[str, Curve]
) -> Figure:
    """The logged `measure` of every arm, called `label`, against steps, and the
    published curve of an arm, pairs of step and value, thin and in its colour."""
    figure, (panel,) = new_panels(1)
    draw_arms(panel, arms, "step", measure)
    thin: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.7}
    for arm, (color, *_) in zip(arms, cycle(STYLES), strict=False):
        if arm in curves:
            steps, values = np.asarray(curves[arm], float).T
            panel.plot(steps, values, color=color, **thin)
    panel.plot([], [], color="black", label="thin: as published", **thin)
    finish(panel, xlabel="steps", ylabel=label)
    return figure
