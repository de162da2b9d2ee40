"""Evenly spread points on patches, in proportion to what is kept of them."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from ..core import InputError, check_count
from ._patch import AbstractPatch, Placed, Points, Units

Keep = Callable[[Points], np.ndarray]

_PILOT = 12  # so many doublings tell which part of a patch is kept
_MOST_EMPTY = 18  # after so many doublings without a point there is none
_MOST = 22  # or so many more than points are wanted
_SPARSE = 8


def spread(
    patches: Sequence[AbstractPatch],
    num_points: int,
    *,
    seed: int,
    keep: Keep | None = None,
    name: str,
) -> tuple[Points, Points]:
    """Points and normals, shuffled: any part of them is evenly spread on the average,
    and no stride through them meets a pattern. `name` is what errors call them."""
    check_count(num_points=num_points)
    random = np.random.default_rng(seed)
    if len(patches) == 1:
        counts = np.array([num_points])
    else:
        counts = _shares(kept_measures(patches, keep), num_points, random, name)
    found = [
        _fill(patch, int(count), random, keep, name)
        for patch, count in zip(patches, counts, strict=True)
        if count > 0
    ]
    points, normals = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = random.permutation(num_points)
    return points[order], normals[order]


def kept_measures(
    patches: Sequence[AbstractPatch], keep: Keep | None, doublings: int = _PILOT
) -> list[float]:
    """How much of each patch is kept, from the share of points."""
    found = []
    for patch in patches:
        units = _members(patch)
        if units is None:
            sobol = _sobol(patch.num_units, np.random.default_rng(0))
            units = sobol(doublings if patch.num_units else 0)
        found.append(patch.measure * float(np.mean(_kept(patch, units, keep).is_kept)))
    return found


def count_members(
    patches: Sequence[AbstractPatch], keep: Keep | None = None
) -> int | None:
    """How many points there are, if not endlessly many."""
    units = [_members(patch) for patch in patches]
    listed = [u for u in units if u is not None]
    if len(listed) < len(units):
        return None
    pairs = zip(patches, listed, strict=True)
    return sum(int(np.sum(_kept(patch, u, keep).is_kept)) for patch, u in pairs)


def _shares(
    measures: list[float], num_points: int, random: np.random.Generator, name: str
) -> np.ndarray:
    """How many points each patch gets: its share, rounded up or down at random."""
    if sum(measures) <= 0:
        raise InputError(f"No point was found {name}.")
    ends = np.cumsum(measures) / np.sum(measures) * num_points
    ends[-1] = num_points
    return np.diff(np.floor(ends + random.uniform()), prepend=0.0).astype(int)


def _fill(
    patch: AbstractPatch,
    count: int,
    random: np.random.Generator,
    keep: Keep | None,
    name: str,
) -> tuple[Points, Points]:
    """The first points of a sequence on the patch that are kept."""
    units = _members(patch)
    if units is not None:
        found = _kept(patch, random.permutation(units), keep)
        chosen = np.flatnonzero(found.is_kept)
        if chosen.size == 0:
            raise InputError(f"No point was found {name}.")
        chosen = np.resize(chosen, count)
        return found.points[chosen], found.normals[chosen]
    sobol = _sobol(patch.num_units, random)
    points, normals, num_kept = [], [], 0
    doublings = int(np.ceil(np.log2(count)))
    num_drawn, most = 0, 2 ** max(_MOST, doublings + _SPARSE)
    while num_kept < count:
        is_hopeless = num_kept == 0 and num_drawn >= 2 ** max(_MOST_EMPTY, doublings)
        if is_hopeless or num_drawn >= most:
            raise InputError(
                f"{num_kept or 'No'} points of {count} were found {name}, among "
                f"{num_drawn} of where it could be."
            )
        found = _kept(patch, sobol(doublings), keep)
        num_drawn += 2**doublings
        doublings += len(points) > 0
        points.append(found.points[found.is_kept])
        normals.append(found.normals[found.is_kept])
        num_kept += len(points[-1])
    return np.concatenate(points)[:count], np.concatenate(normals)[:count]


def _kept(patch: AbstractPatch, units: Units, keep: Keep | None) -> Placed:
    found = patch.place(units)
    if keep is None or not np.any(found.is_kept):
        return found
    is_kept = found.is_kept.copy()
    is_kept[is_kept] = keep(found.points[is_kept])
    return Placed(found.points, found.normals, is_kept)


def _members(patch: AbstractPatch) -> Units | None:
    """The numbers that give each of finitely many points once."""
    if patch.num_members is None:
        return None
    middles = (np.arange(patch.num_members) + 0.5) / max(patch.num_members, 1)
    return np.tile(middles[:, None], (1, patch.num_units))


def _sobol(num_units: int, random: np.random.Generator) -> Callable[[int], Units]:
    """Two to the power of so many points of a scrambled Sobol sequence, going on."""
    if num_units == 0:
        return lambda doublings: np.zeros((2**doublings, 0))
    return scipy.stats.qmc.Sobol(num_units, scramble=True, rng=random).random_base2
