"""Low-discrepancy sampling of regions, in proportion to their measures."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from ..core import InputError, check_count
from ._regions import AbstractRegion, CubePoints, MappedPoints, Points

KeepFn = Callable[[Points], np.ndarray]

_LOG2_ESTIMATE = 12  # points of an estimated measure
_LOG2_MAX_EMPTY = 18  # candidates without a hit, after which a region is empty
_LOG2_MAX = 22  # candidates in total,
_LOG2_MAX_REJECTION = 8  # or so many times the requested points


def sample_regions(
    regions: Sequence[AbstractRegion],
    num_points: int,
    *,
    seed: int,
    keep_fn: KeepFn | None = None,
    name: str,
) -> tuple[Points, Points]:
    """Return points, uniform on all regions together, and normals, in random order.

    The random order makes any part of them uniform on average, and free of patterns.
    Error messages contain `name`.
    """
    check_count(num_points=num_points)
    random = np.random.default_rng(seed)
    if len(regions) == 1:
        counts = np.array([num_points])
    else:
        counts = _allocate(
            estimate_measures(regions, keep_fn), num_points, random, name
        )
    found = [
        _sample_region(region, int(count), random, keep_fn, name)
        for region, count in zip(regions, counts, strict=True)
        if count > 0
    ]
    points, normals = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = random.permutation(num_points)
    return points[order], normals[order]


def estimate_measures(
    regions: Sequence[AbstractRegion],
    keep_fn: KeepFn | None,
    log2_points: int = _LOG2_ESTIMATE,
) -> list[float]:
    """Estimate the measure of each region from the fraction of kept points."""
    found = []
    for region in regions:
        cube_points = _all_cube_points(region)
        if cube_points is None:
            sobol = _sobol_sequence(region.cube_dim, np.random.default_rng(0))
            cube_points = sobol(log2_points if region.cube_dim else 0)
        is_kept = _map_and_filter(region, cube_points, keep_fn).is_kept
        found.append(region.measure * float(np.mean(is_kept)))
    return found


def count_available(
    regions: Sequence[AbstractRegion], keep_fn: KeepFn | None = None
) -> int | None:
    """Count the points of finite regions; None if one of them is infinite."""
    cube_points = [_all_cube_points(region) for region in regions]
    finite = [points for points in cube_points if points is not None]
    if len(finite) < len(regions):
        return None
    pairs = zip(regions, finite, strict=True)
    return sum(int(np.sum(_map_and_filter(r, p, keep_fn).is_kept)) for r, p in pairs)


def _allocate(
    measures: list[float], num_points: int, random: np.random.Generator, name: str
) -> np.ndarray:
    """Return the number of points of each region, its share rounded at random."""
    if sum(measures) <= 0:
        raise InputError(f"No point was found {name}: this part is empty.")
    ends = np.cumsum(measures) / np.sum(measures) * num_points
    ends[-1] = num_points
    return np.diff(np.floor(ends + random.uniform()), prepend=0.0).astype(int)


def _sample_region(
    region: AbstractRegion,
    count: int,
    random: np.random.Generator,
    keep_fn: KeepFn | None,
    name: str,
) -> tuple[Points, Points]:
    """Return the first kept points of a low-discrepancy sequence."""
    cube_points = _all_cube_points(region)
    if cube_points is not None:
        found = _map_and_filter(region, random.permutation(cube_points), keep_fn)
        kept = np.flatnonzero(found.is_kept)
        if kept.size == 0:
            raise InputError(f"No point was found {name}: this part is empty.")
        kept = np.resize(kept, count)
        return found.points[kept], found.normals[kept]
    sobol = _sobol_sequence(region.cube_dim, random)
    points, normals, num_kept = [], [], 0
    log2_points = int(np.ceil(np.log2(count)))
    num_drawn, most = 0, 2 ** max(_LOG2_MAX, log2_points + _LOG2_MAX_REJECTION)
    while num_kept < count:
        most_empty = 2 ** max(_LOG2_MAX_EMPTY, log2_points)
        is_empty = num_kept == 0 and num_drawn >= most_empty
        if is_empty or num_drawn >= most:
            raise InputError(
                f"Only {num_kept} of {count} points were found {name}, among "
                f"{num_drawn} candidates: this part is empty or too thin."
            )
        found = _map_and_filter(region, sobol(log2_points), keep_fn)
        num_drawn += 2**log2_points
        log2_points += len(points) > 0
        points.append(found.points[found.is_kept])
        normals.append(found.normals[found.is_kept])
        num_kept += len(points[-1])
    return np.concatenate(points)[:count], np.concatenate(normals)[:count]


def _map_and_filter(
    region: AbstractRegion, cube_points: CubePoints, keep_fn: KeepFn | None
) -> MappedPoints:
    found = region.map_cube(cube_points)
    if keep_fn is None or not np.any(found.is_kept):
        return found
    is_kept = found.is_kept.copy()
    is_kept[is_kept] = keep_fn(found.points[is_kept])
    return MappedPoints(found.points, found.normals, is_kept)


def _all_cube_points(region: AbstractRegion) -> CubePoints | None:
    """Return the cube points that give each point of a finite region once."""
    if region.num_available is None:
        return None
    middles = (np.arange(region.num_available) + 0.5) / max(region.num_available, 1)
    return np.tile(middles[:, None], (1, region.cube_dim))


def _sobol_sequence(
    cube_dim: int, random: np.random.Generator
) -> Callable[[int], CubePoints]:
    """Return a function that gives the next `2**n` points of a scrambled sequence."""
    if cube_dim == 0:
        return lambda log2_points: np.zeros((2**log2_points, 0))
    return scipy.stats.qmc.Sobol(cube_dim, scramble=True, rng=random).random_base2
