"""Sampling probabilities and weights of an operator's training samples."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import RunFigure
from ._cuts import output_axes
from ._panels import Arrays, draw_map, finish, is_wide, new_panels

_TITLE = "mean weight"


def plot_adaptivity(fields: Arrays | None) -> Figure | None:
    """Sampling probability of training samples in descending order, and the mean weight
    of points over samples.

    Weights over more than two coordinates are shown over the last two in space, and
    over time. None if the run stored neither.
    """
    draws = []
    if fields and _has_positive(fields.get("mass")):
        draws.append(_draw_mass)
    if fields and _has_positive(fields.get("mean weight")):
        draws.append(_draw_weight)
        if fields["mean weight"].ndim > 2 and "t" in _weight_axes(fields):
            draws.append(_draw_weight_over_time)
    if not fields or not draws:
        return None
    figure, panels = new_panels(len(draws))
    for panel, draw in zip(panels, draws, strict=True):
        draw(panel, fields)
    return figure


def _has_positive(values: np.ndarray | None) -> bool:
    """Whether any value is positive and finite."""
    if values is None or values.ndim == 0:
        return False
    return bool(np.any(np.isfinite(values) & (values > 0)))


def _draw_mass(panel: Axes, fields: Arrays) -> None:
    mass = fields["mass"]
    ordered = np.sort(mass[np.isfinite(mass)])[::-1]
    shares = 100 * np.arange(1, len(ordered) + 1) / len(ordered)
    is_good = ordered > 0
    panel.plot(shares[is_good], ordered[is_good], color="black", label="adaptive")
    panel.axhline(1.0, color="0.5", linestyle="--", linewidth=1, label="uniform")
    panel.set_xscale("log")
    across = "% of the samples, most probable first"
    finish(panel, xlabel=across, ylabel="probability relative to uniform")


def _weight_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """The coordinates of a sample.

    A sample may be one slice of a function along a coordinate, most likely time: that
    coordinate is left out.
    """
    axes, weight = output_axes(fields), fields["mean weight"]
    if "places" in fields or weight.ndim == len(axes):
        return axes
    for split in sorted(axes, key=lambda name: name != "t"):
        rest = {name: axis for name, axis in axes.items() if name != split}
        if tuple(axis.size for axis in rest.values()) == weight.shape:
            return rest
    return axes


def _draw_weight(panel: Axes, fields: Arrays) -> None:
    axes, weight = _weight_axes(fields), fields["mean weight"]
    if len(axes) == 1:
        ((across, places),) = axes.items()
        order = np.argsort(places)
        panel.plot(places[order], weight[order], color="black")
        finish(panel, is_log=is_wide(weight), xlabel=across, ylabel=_TITLE)
        return
    title, names = _TITLE, list(axes)
    if len(axes) > 2 and "places" not in fields:
        names = [name for name in axes if name != "t"][-2:]
        others = [name for name in axes if name not in names]
        weight = np.mean(weight, axis=tuple(list(axes).index(name) for name in others))
        title += f", mean over {', '.join(others)}"
    last_two = {name: axes[name] for name in names[-2:]}
    draw_map(panel, last_two, weight, title, LogNorm() if is_wide(weight) else None)


def _draw_weight_over_time(panel: Axes, fields: Arrays) -> None:
    axes, weight = _weight_axes(fields), fields["mean weight"]
    others = tuple(k for k, name in enumerate(axes) if name != "t")
    mean = np.mean(weight, axis=others)
    panel.plot(axes["t"], mean, color="black")
    finish(panel, is_log=is_wide(mean), xlabel="t", ylabel=f"{_TITLE}, mean over space")


ADAPTIVITY = RunFigure(
    55,
    "adaptivity",
    "Adaptivity",
    "The final probability of each training sample, relative to uniform: a flat line "
    "at 1 means no adaptivity. The mean weight of points should be large where errors "
    "are large.",
    lambda run: plot_adaptivity(run.fields),
)
