"""Reference solutions on a grid, with their own error."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool

from ..core import InputError, as_floats
from ..domains import AbstractDomain
from ._spectral import relative_difference
from .arguments import check_argument_order


class Reference(eqx.Module):
    """Reference values on the grid of `axes`, and their relative L2 `error`.

    `values` is an array for one field, or a dictionary of arrays by field; missing
    fields are not compared. Values outside the domain are ignored and may be NaN.
    `unknowns` holds the true values of unknown coefficients.
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
        """Evaluate a function of the coordinates on a grid that includes the bounds.

        `fn` receives coordinate arrays and only points of the domain.
        """
        names = domain.coordinates
        if shape is None:
            shape = tuple([round(100_000 ** (1 / len(names)))] * len(names))
        if len(shape) != len(names):
            raise InputError(
                f"`shape` must be a count for each of {', '.join(names)}, got {shape}."
            )
        check_argument_order(fn, names, "The function of a reference")
        counts = dict(zip(names, shape, strict=True))
        lines = [np.linspace(*domain.bounds(name), counts[name]) for name in names]
        grid = np.meshgrid(*lines, indexing="ij")
        is_inside = inside_grid(domain, lines)
        if np.all(is_inside):
            values = fn(*grid)
        else:
            found = fn(*(g[is_inside] for g in grid))
            fill = lambda part: _fill_outside(part, is_inside)
            is_named = isinstance(found, dict)
            values = {n: fill(v) for n, v in found.items()} if is_named else fill(found)
        return Reference(dict(zip(names, lines, strict=True)), values, error)

    def points(self) -> np.ndarray:
        """Return the grid points as rows of coordinates."""
        grid = np.meshgrid(*self.axes.values(), indexing="ij")
        return np.stack([np.ravel(g) for g in grid], axis=1)

    def check(self, domain: AbstractDomain, fields: tuple[str, ...]) -> "Reference":
        """Return a copy with values by field; raise if they do not fit the domain."""
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
                "each field to compare."
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


def exact_reference(
    domain: AbstractDomain, solution_fn: Callable[..., Any], *shape: int
) -> Reference:
    """Evaluate an exact solution on a grid that includes the bounds.

    `solution_fn` takes coordinate arrays and returns an array, or a dictionary of
    arrays by field. The error is the difference from extended precision, and at least
    one rounding error. Points outside the domain are NaN and do not count.
    """
    found = Reference.from_function(domain, solution_fn, shape)
    axes = list(found.axes.values())
    is_inside = inside_grid(domain, axes)
    extended = [axis.astype(np.longdouble) for axis in axes]
    grid = np.meshgrid(*extended, indexing="ij")
    finer = _join_fields(solution_fn(*(part[is_inside] for part in grid)))
    is_named = isinstance(found.values, dict)
    arrays = found.values if is_named else {"": found.values}
    values = _join_fields({name: array[is_inside] for name, array in arrays.items()})
    difference = relative_difference(values, finer)
    error = max(difference, float(np.finfo(float).eps))
    return Reference(found.axes, found.values, error)


def inside_grid(domain: AbstractDomain, axes: list[Any]) -> Bool[np.ndarray, "..."]:
    """Return which points of a grid are in the domain."""
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([np.ravel(g) for g in grid], axis=1)
    return domain.contains(points).reshape(grid[0].shape)


def _join_fields(values: Any) -> np.ndarray:
    """Return all fields as one array."""
    parts = values.values() if isinstance(values, dict) else [values]
    return np.concatenate([np.ravel(part) for part in parts])


def _fill_outside(values: Any, is_inside: np.ndarray) -> np.ndarray:
    """Return values on the whole grid, NaN outside the domain."""
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
