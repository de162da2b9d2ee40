"""Output functions of an operator: their coordinates, and cuts that can be drawn."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ._base import Arrays, add_scale, draw_map, keep_shape, thin_ticks

_AREA_OF_DOTS = 6000  # square points, shared by all dots of a panel


class Cut(NamedTuple):
    """Which values are shown, along which coordinates, and where the others are."""

    ids: tuple[Any, ...]
    axes: dict[str, np.ndarray]
    place: str


def output_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """The coordinates of the outputs by name: along each axis of a grid, or those of
    every scattered point."""
    if "places" not in fields:
        names = [str(name) for name in fields["coordinates"]]
        return {name: fields[name] for name in names}
    places = fields["places"]
    names = [str(name) for name in fields.get("coordinates", ())]
    if len(names) != places.shape[1]:
        names = [f"x{k + 1}" for k in range(places.shape[1])]
    return dict(zip(names, places.T, strict=True))


def cuts_of(fields: Arrays, error: np.ndarray) -> list[Cut]:
    """What is shown of a function with this error: all of it over one or two
    coordinates, or over scattered points. Of more coordinates the last two in space:
    at the last time and at that of the largest error, and halfway along the others."""
    axes = output_axes(fields)
    if "places" in fields or len(axes) <= 2:
        return [Cut((), dict(list(axes.items())[-2:]), "")]
    kept = [name for name in axes if name != "t"][-2:]
    halfway = {name: axes[name].size // 2 for name in axes if name not in kept}
    found = [halfway]
    if "t" in halfway:
        times = (axes["t"].size - 1, _worst_time(list(axes), error))
        found = [halfway | {"t": time} for time in dict.fromkeys(times)]
    return [
        Cut(
            tuple(place.get(name, slice(None)) for name in axes),
            {name: axes[name] for name in kept},
            ", ".join(f"{name} = {axes[name][k]:.3g}" for name, k in place.items()),
        )
        for place in found
    ]


def _worst_time(names: list[str], error: np.ndarray) -> int:
    others = tuple(k for k, name in enumerate(names) if name != "t")
    return int(np.argmax(np.nan_to_num(np.mean(error**2, axis=others))))


def draw_over(
    panel: Axes, axes: Arrays, values: np.ndarray, title: str, norm: Any = None
) -> None:
    """Values over two coordinates: as a map, or as dots if they are scattered."""
    if values.ndim == 2:
        draw_map(panel, axes, values, title, norm)
        return
    (across, first), (up, second) = axes.items()
    dots = panel.scatter(
        first,
        second,
        s=float(np.clip(_AREA_OF_DOTS / len(values), 2, 60)),
        c=values,
        norm=norm,
        cmap="viridis",
        linewidths=0,
        rasterized=True,
    )
    add_scale(panel, dots)
    panel.set(title=title, xlabel=across, ylabel=up)
    thin_ticks(panel.xaxis, panel.yaxis)
    keep_shape(panel, axes)
