"""Statistics over seeds: spread, and ratios of two methods paired by seed."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

WANTED_CONFIDENCE = 0.95

Number = float | int


class Spread(NamedTuple):
    """Median, minimum and maximum."""

    median: float
    lowest: float
    highest: float


class Paired(NamedTuple):
    """Ratios to a baseline with the same seed: their median, a confidence interval for
    the true median, and its confidence."""

    ratios: tuple[float, ...]
    median: float
    lower: float
    upper: float
    confidence: float

    @property
    def is_lower(self) -> bool:
        """Whether the interval lies below one."""
        return len(self.ratios) > 1 and self.upper < 1

    @property
    def is_higher(self) -> bool:
        """Whether the interval lies above one."""
        return len(self.ratios) > 1 and self.lower > 1


def spread(values: Sequence[Number]) -> Spread:
    """Median, minimum and maximum; NaN counts as infinite."""
    numbers = [_size(value) for value in values]
    return Spread(float(np.median(numbers)), min(numbers), max(numbers))


def pair(
    values: Mapping[int, Number], baseline: Mapping[int, Number], floor: Number = 0.0
) -> Paired | None:
    """Compare two methods by the seeds that both have; `None` without such a seed.

    Values below `floor` count as `floor`. The interval is that of the sign test:
    between the k-th lowest and the k-th highest ratio, with the largest k that gives
    a confidence of 95 %. With up to five seeds no k does: the interval is then the
    range of the ratios, with a confidence of `1 - 2**(1 - n)`.
    """
    seeds = sorted(values.keys() & baseline.keys())
    if not seeds:
        return None
    bounded = lambda value: max(_size(value), float(floor))
    ratios = np.sort([_ratio(bounded(values[s]), bounded(baseline[s])) for s in seeds])
    rank = _rank(len(seeds))
    return Paired(
        tuple(map(float, ratios)),
        _middle(ratios),
        float(ratios[rank - 1]),
        float(ratios[-rank]),
        _confidence(len(seeds), rank),
    )


def _rank(num_seeds: int) -> int:
    """The k of the interval."""
    ranks = range(1, num_seeds // 2 + 1)
    fitting = [k for k in ranks if _confidence(num_seeds, k) >= WANTED_CONFIDENCE]
    return max(fitting, default=1)


def _confidence(num_seeds: int, rank: int) -> float:
    """One minus the probability that fewer than `rank` of `num_seeds` fair coins show
    heads, or fewer show tails."""
    outside = sum(math.comb(num_seeds, heads) for heads in range(rank))
    return 1 - 2 * outside / 2**num_seeds


def _size(value: Number) -> float:
    return math.inf if math.isnan(value) else float(value)


def _ratio(value: float, baseline: float) -> float:
    if value == baseline:
        return 1.0
    return value / baseline if baseline > 0 else math.inf


def _middle(ordered: np.ndarray) -> float:
    """The median; of an even number the geometric mean of the middle two."""
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    if np.min(middle) <= 0 or np.isinf(np.max(middle)):
        return float(np.max(middle))
    return float(np.exp(np.mean(np.log(middle))))
