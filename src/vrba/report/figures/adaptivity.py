"""Which functions are drawn more often, and where their points weigh more."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ._base import Arrays, RunFigure, finish, new_panels
from ._functions import draw_over, output_axes
from .scales import is_wide

_TITLE = "mean weight"


def plot_adaptivity(fields: Arrays | None) -> Figure | None:
    """How often training samples are drawn, relative to uniform, in their order, and
    the weight of points, mean over samples: over one or two coordinates, and if there
    are more, over the last two in space and over time. None if neither was kept."""
    draws = []
    if fields and _has_any(fields.get("mass")):
        draws.append(_draw_mass)
    if fields and _has_any(fields.get("mean weight")):
        draws.append(_draw_weight)
        if fields["mean weight"].ndim > 2 and "t" in _weight_axes(fields):
            draws.append(_draw_weight_over_time)
    if not fields or not draws:
        return None
    figure, panels = new_panels(len(draws))
    for panel, draw in zip(panels, draws, strict=True):
        draw(panel, fields)
    return figure


def _has_any(values: np.ndarray | None) -> bool:
    """Whether there are places, and values there that a logarithm knows."""
    if values is None or values.ndim == 0:
        return False
    return bool(np.any(np.isfinite(values) & (values > 0)))


def _draw_mass(panel: Axes, fields: Arrays) -> None:
    mass = fields["mass"]
    ordered = np.sort(mass[np.isfinite(mass)])[::-1]
    shares = 100 * np.arange(1, len(ordered) + 1) / len(ordered)
    is_good = ordered > 0
    panel.plot(shares[is_good], ordered[is_good], color="black", label="drawn")
    panel.axhline(1.0, color="0.5", linestyle="--", linewidth=1, label="uniform")
    panel.set_xscale("log")
    across = "% of the samples, hardest first"
    finish(panel, xlabel=across, ylabel="probability relative to uniform")


def _weight_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """The coordinates of a sample: those of a function, but for the one that was split,
    likely time, if a sample is one place along it."""
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
    shown = {name: axes[name] for name in names[-2:]}
    draw_over(panel, shown, weight, title, LogNorm() if is_wide(weight) else None)


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
    "How much more often the hardest training samples are drawn at the end than the "
    "easiest, where a flat line at 1 is no adaptivity at all; and how much the points "
    "of a function weigh, which should be more where its errors are.",
    lambda run: plot_adaptivity(run.fields),
)
