"""Directions in a space of candidates that change fields, but no residual."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

NUM_EACH = 4  # functions of each coordinate among the candidates
_NEW = 1e-3  # a direction that is so far from known ones is another one

Rows = Float[np.ndarray, "_ columns"]


class NullPart(NamedTuple):
    """Fields and coordinates of null directions, by their numbers.

    It `is_whole` if all functions of these coordinates are null.
    """

    fields: tuple[int, ...]
    coordinates: tuple[int, ...]
    is_whole: bool


def find_null_parts(
    response: Rows, change: Rows, shape: tuple[int, int], tolerance: float
) -> list[NullPart]:
    """Find the null directions of as few fields and coordinates as possible.

    `response` and `change` hold the derivatives of residuals and of fields. `shape` is
    the number of fields and of coordinates. For each field there is a column for one,
    then `NUM_EACH` functions of the coordinates, each of all coordinates.
    """
    num_fields, dim = shape
    response = np.asarray(np.linalg.qr(response, mode="r"))
    change = np.asarray(np.linalg.qr(change, mode="r"))
    size = 1 + NUM_EACH * dim
    total = len(_null(response, change, np.arange(num_fields * size), tolerance))
    known = np.zeros((0, len(change)))
    found: list[NullPart] = []
    for fields in _subsets(num_fields, 1):
        for places in _subsets(dim, 0):
            if len(known) >= total:
                return _without_parts(found)
            own = [0] + [1 + dim * j + k for k in places for j in range(NUM_EACH)]
            columns = np.array([field * size + one for field in fields for one in own])
            null = _null(response, change, columns, tolerance)
            new = _remainder(null, known)
            known = np.concatenate([known, new])
            if len(new):
                found.append(NullPart(fields, places, len(new) >= len(own) - 1))
    return _without_parts(found)


def _null(
    response: Rows, change: Rows, columns: np.ndarray, tolerance: float
) -> Float[np.ndarray, "_ _"]:
    """Return an orthonormal basis of the changes without a response.

    A change that is too small beside others is left out.
    """
    _, values, directions = np.linalg.svd(change[:, columns], full_matrices=False)
    is_kept = values > tolerance * np.max(values, initial=0.0)
    basis = directions[is_kept].T / values[is_kept]
    _, sizes, inner = np.linalg.svd(response[:, columns] @ basis)
    sizes = np.pad(sizes, (0, len(inner) - len(sizes)))
    found = change[:, columns] @ basis @ inner[sizes <= tolerance].T
    return np.linalg.qr(found)[0].T


def _remainder(null: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the part that is not known."""
    rest = null - null @ known.T @ known
    _, sizes, rows = np.linalg.svd(rest, full_matrices=False)
    return rows[sizes > _NEW]


def _subsets(count: int, least: int) -> list[tuple[int, ...]]:
    sizes = range(least, count + 1)
    return [one for size in sizes for one in itertools.combinations(range(count), size)]


def _without_parts(found: list[NullPart]) -> list[NullPart]:
    """Leave out a constant if a function of a coordinate contains it."""
    whole = {one.fields for one in found if one.is_whole and one.coordinates}
    return [one for one in found if one.coordinates or one.fields not in whole]
