"""A solution known by other means, on a grid, with its own error."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool

from ..core import InputError, as_floats
from ..domains import AbstractDomain
from .arguments import check_order


class Reference(eqx.Module):
    """Values on the grid that `axes` span, and their relative error.

    `values` is an array for one field, or a dictionary of arrays by field; a field that
    is not there is not compared. What lies outside of a domain that is no box does not
    count, and may be NaN. `unknowns` holds the true values of coefficients that are
    sought.
    """

    axes: dict[str, Any]
    values: Any
    error: float | int = 0.0
    unknowns: dict[str, float] = eqx.field(default_factory=dict)

    @staticmethod
    def from_function(
        domain: AbstractDomain,
        fn: Callable[..., Any],
        shape: tuple[int, ...] | None = None,
        error: float | int = 0.0,
    ) -> "Reference":
        """A function of the coordinates as arrays, on a grid with both ends; it is only
        asked for points of the domain."""
        names = domain.coordinates
        if shape is None:
            shape = tuple([round(100_000 ** (1 / len(names)))] * len(names))
        if len(shape) != len(names):
            raise InputError(
                f"`shape` must be a count for each of {', '.join(names)}, got {shape}."
            )
        check_order(fn, names, "The function of a reference")
        counts = dict(zip(names, shape, strict=True))
        lines = [np.linspace(*domain.bounds(name), counts[name]) for name in names]
        grid = np.meshgrid(*lines, indexing="ij")
        is_inside = inside_grid(domain, lines)
        if np.all(is_inside):
            values = fn(*grid)
        else:
            found = fn(*(g[is_inside] for g in grid))
            spread = lambda part: _filled(part, is_inside)
            is_named = isinstance(found, dict)
            values = {n: spread(v) for n, v in found.items()} if is_named else None
            values = spread(found) if values is None else values
        return Reference(dict(zip(names, lines, strict=True)), values, error)

    def points(self) -> np.ndarray:
        """The grid as rows of coordinates."""
        grid = np.meshgrid(*self.axes.values(), indexing="ij")
        return np.stack([np.ravel(g) for g in grid], axis=1)

    def check(self, domain: AbstractDomain, fields: tuple[str, ...]) -> "Reference":
        """The same, with values by field, or an error that says what does not fit."""
        if tuple(self.axes) != domain.coordinates:
            raise InputError(
                f"The axes of the reference are {', '.join(self.axes)}, the "
                f"coordinates of the domain {', '.join(domain.coordinates)}."
            )
        values = self.values if isinstance(self.values, dict) else None
        if values is None:
            values = {fields[0]: self.values} if len(fields) == 1 else {}
        if not values or not set(values) <= set(fields):
            raise InputError(
                f"The reference has values of {sorted(values)}, the fields of the "
                f"problem are {sorted(fields)}: give a dictionary with an array for "
                "each of them that is to be compared."
            )
        axes = {name: as_floats(name, axis) for name, axis in self.axes.items()}
        _check_axes(axes, domain)
        is_inside = inside_grid(domain, list(axes.values()))
        if not np.any(is_inside):
            raise InputError("The grid of the reference has no point in the domain.")
        arrays = {}
        for name in (field for field in fields if field in values):
            array = as_floats(f"reference of {name}", values[name])
            if array.shape != is_inside.shape:
                raise InputError(
                    f"The reference of `{name}` has shape {array.shape}, its axes make "
                    f"{is_inside.shape}."
                )
            if not np.all(np.isfinite(array[is_inside])):
                raise InputError(f"The reference of `{name}` is not finite everywhere.")
            arrays[name] = np.where(is_inside, array, np.nan)
        return Reference(axes, arrays, self.error, self.unknowns)


def inside_grid(domain: AbstractDomain, axes: list[Any]) -> Bool[np.ndarray, "..."]:
    """Which points of a grid are in the domain."""
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([np.ravel(g) for g in grid], axis=1)
    return domain.contains(points).reshape(grid[0].shape)


def _filled(values: Any, is_inside: np.ndarray) -> np.ndarray:
    """Values of the points inside on the whole grid, elsewhere NaN."""
    found = np.full(is_inside.shape, np.nan)
    found[is_inside] = as_floats("reference", values)
    return found


def _check_axes(axes: dict[str, np.ndarray], domain: AbstractDomain) -> None:
    for name, axis in axes.items():
        lower, upper = domain.bounds(name)
        room = 1e-12 * (upper - lower)
        if not np.all((axis >= lower - room) & (axis <= upper + room)):
            raise InputError(
                "The grid of the reference is not finite or reaches outside the "
                f"domain, where {name} lies between {lower:g} and {upper:g}."
            )
