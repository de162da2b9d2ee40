"""What was published, beside what came out here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ._base import finish, new_panels
from .comparison import Arms, draw_arms, styles_of

Curve = Sequence[Sequence[int | float]]


def plot_published(arms: Arms, label: str, curves: Mapping[str, Curve]) -> Figure:
    """The error of every arm, called `label`, against steps, and the published curve of
    an arm, pairs of step and error, thin and in its style."""
    figure, (panel,) = new_panels(1)
    draw_arms(panel, arms, "step", "error")
    thin: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.7}
    for arm, (color, line, _) in styles_of(arms).items():
        if arm in curves:
            steps, values = np.asarray(curves[arm], float).T
            panel.plot(steps, values, color=color, linestyle=line, **thin)
    panel.plot([], [], color="0.5", label="thin: as published", **thin)
    finish(panel, xlabel="steps", ylabel=label)
    return figure
