"""Cuts through functions of more coordinates than a panel has."""

from typing import Any, NamedTuple

import numpy as np

from ._panels import Arrays


def last_two_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """The coordinates along which the solution of a problem is drawn."""
    names = [str(name) for name in fields["coordinates"]]
    return {name: fields[name] for name in names[-2:]}


def middle_cut(fields: Arrays, key: str) -> np.ndarray:
    """The values over the last two coordinates, in the middle of the others."""
    values = fields[key]
    while values.ndim > 2:
        values = values[values.shape[0] // 2]
    return values


def middle_cut_text(fields: Arrays) -> str:
    """Where `middle_cut` cuts, such as ` at t = 0.5`; empty if it does not cut."""
    names = [str(name) for name in fields["coordinates"]][:-2]
    middles = [f"{name} = {fields[name][fields[name].size // 2]:.3g}" for name in names]
    return f" at {', '.join(middles)}" if middles else ""


class Cut(NamedTuple):
    """Index of the drawn values, their coordinates, and the cut as text."""

    ids: tuple[Any, ...]
    axes: dict[str, np.ndarray]
    place: str


def output_axes(fields: Arrays) -> dict[str, np.ndarray]:
    """Coordinates of an operator's outputs by name.

    On a grid the values along each axis, else the coordinate of every point.
    """
    if "places" not in fields:
        names = [str(name) for name in fields["coordinates"]]
        return {name: fields[name] for name in names}
    places = fields["places"]
    names = [str(name) for name in fields.get("coordinates", ())]
    if len(names) != places.shape[1]:
        names = [f"x{k + 1}" for k in range(places.shape[1])]
    return dict(zip(names, places.T, strict=True))


def cuts_of(fields: Arrays, error: np.ndarray) -> list[Cut]:
    """Cuts through an output function with this error.

    One or two coordinates and scattered points need no cut. With more coordinates,
    the cuts keep the last two in space. They are at the last time and at the time of
    the largest error, and in the middle of all other coordinates.
    """
    axes = output_axes(fields)
    if "places" in fields or len(axes) <= 2:
        return [Cut((), dict(list(axes.items())[-2:]), "")]
    kept = [name for name in axes if name != "t"][-2:]
    middle = {name: axes[name].size // 2 for name in axes if name not in kept}
    places = [middle]
    if "t" in middle:
        times = (axes["t"].size - 1, _worst_time(list(axes), error))
        places = [middle | {"t": time} for time in dict.fromkeys(times)]
    return [
        Cut(
            tuple(place.get(name, slice(None)) for name in axes),
            {name: axes[name] for name in kept},
            ", ".join(f"{name} = {axes[name][k]:.3g}" for name, k in place.items()),
        )
        for place in places
    ]


def _worst_time(names: list[str], error: np.ndarray) -> int:
    others = tuple(k for k, name in enumerate(names) if name != "t")
    return int(np.argmax(np.nan_to_num(np.mean(error**2, axis=others))))
