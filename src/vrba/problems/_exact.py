"""Exact solutions as references."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..domains import AbstractDomain
from ._spectral import relative_difference
from .reference import Reference


def exact_reference(
    domain: AbstractDomain, solution_fn: Callable[..., Any], *shape: int
) -> Reference:
    """An exact solution on a grid with both ends.

    `solution_fn` takes the coordinates as arrays and returns an array, or a dictionary
    of arrays by field. The error is what extended precision changes, and at least one
    rounding.
    """
    found = Reference.from_function(domain, solution_fn, shape)
    longer = [axis.astype(np.longdouble) for axis in found.axes.values()]
    finer = solution_fn(*np.meshgrid(*longer, indexing="ij"))
    difference = relative_difference(_joined(found.values), _joined(finer))
    error = max(difference, float(np.finfo(float).eps))
    return Reference(found.axes, found.values, error)


def _joined(values: Any) -> np.ndarray:
    """All fields as one array."""
    parts = values.values() if isinstance(values, dict) else [values]
    return np.concatenate([np.ravel(part) for part in parts])
