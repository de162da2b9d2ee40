"""The stages of learning (fitting, transition, diffusion) from a run's record."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

MEASURE = "snr_unit"
_MAX_LEVELS = 3
_MIN_LENGTH = 4  # measurements in a stage
_MAX_MEASUREMENTS = 300
_MIN_CHANGE = 1.5  # smallest factor of the ratio between two stages


class Stage(NamedTuple):
    """A stage "fitting", "transition" or "diffusion", with its first and last step."""

    name: str
    first_step: int
    last_step: int


def find_stages(record: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """Return the stages of a run from the logged signal-to-noise ratio of gradients.

    `split_levels` splits the logarithm of the ratio into one to three segments of
    constant level. Neighbouring segments are merged if their ratios differ by less than
    a factor of 1.5. The first segment is fitting: gradients agree. The lowest segment
    after it is transition: gradients disagree. Later segments are diffusion: gradients
    agree again, as the residual is nearly uniform. If all later segments are above the
    first, they are diffusion. With fewer than eight measurements there is one stage,
    without measurements none.
    """
    known = [entry for entry in record if (entry.get(MEASURE) or 0) > 0]
    if not known:
        return []
    if len(known) > _MAX_MEASUREMENTS:
        chosen = np.linspace(0, len(known) - 1, _MAX_MEASUREMENTS).astype(int)
        known = [known[k] for k in chosen]
    logs = np.log([entry[MEASURE] for entry in known])
    starts = _merge(logs, split_levels(logs, _MAX_LEVELS, _MIN_LENGTH))
    names = _name_segments(
        [float(np.mean(part)) for part in np.split(logs, starts[1:])]
    )
    steps = [int(entry["step"]) for entry in known]
    firsts = [steps[start] for start in starts]
    lasts = [steps[start - 1] for start in starts[1:]] + [steps[-1]]
    stages = [Stage(*each) for each in zip(names, firsts, lasts, strict=True)]
    return [_join(list(group)) for _, group in groupby(stages, lambda s: s.name)]


def _join(stages: list[Stage]) -> Stage:
    """Merge neighbouring stages of one name."""
    return Stage(stages[0].name, stages[0].first_step, stages[-1].last_step)


def split_levels(
    values: Float[np.ndarray, " places"], most: int = 3, fewest: int = 4
) -> list[int]:
    """Return where each segment of constant level begins, the first at zero.

    The best split into `k` segments of at least `fewest` values minimises the sum of
    squares about their means, exactly. The number `k`, up to `most`, minimises
    Schwarz's criterion with a penalty for change points, `n log(squares / n) + 3 k log
    n` (a simple form of that of Zhang and Siegmund 2007). The criterion assumes
    independent noise, so a slow drift is split as well.
    """
    values = np.asarray(values, float)
    count = values.size
    squares = _squares(values)
    floor = np.finfo(float).eps * max(float(values @ values), 1e-300)
    best, cost = [0], np.inf
    for number in range(1, min(most, count // fewest or 1) + 1):
        starts, sum_of_squares = _split(squares, number, fewest)
        spread = count * np.log(max(sum_of_squares, floor) / count)
        price = spread + 3 * number * np.log(count)
        if price < cost:
            best, cost = starts, price
    return best


def _squares(values: np.ndarray) -> np.ndarray:
    """Return at `[i, j]` the sum of squares of `values[i:j]` about their mean."""
    centred = values - np.mean(values)
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    size = np.maximum(np.arange(sums.size)[None] - np.arange(sums.size)[:, None], 1)
    within = squares[None] - squares[:, None] - (sums[None] - sums[:, None]) ** 2 / size
    return np.maximum(within, 0.0)


def _split(squares: np.ndarray, number: int, fewest: int) -> tuple[list[int], float]:
    """Return the best starts of `number` segments, and their sum of squares."""
    count = squares.shape[0] - 1
    if number == 1:
        return [0], float(squares[0, count])
    cost, origin = squares[0].copy(), []
    cost[:fewest] = np.inf
    for _ in range(number - 1):
        total = cost[:, None] + squares
        lengths = np.arange(count + 1)[None] - np.arange(count + 1)[:, None]
        total = np.where(lengths >= fewest, total, np.inf)
        origin.append(np.argmin(total, axis=0))
        cost = np.min(total, axis=0)
    starts, end = [], count
    for place in reversed(origin):
        end = int(place[end])
        starts.append(end)
    return [0, *reversed(starts)], float(cost[count])


def _merge(logs: np.ndarray, starts: list[int]) -> list[int]:
    """Remove starts at which the level changes by less than `_MIN_CHANGE`."""
    kept = [0]
    for start, end in pairwise([*starts[1:], logs.size]):
        change = np.mean(logs[start:end]) - np.mean(logs[kept[-1] : start])
        if abs(change) >= np.log(_MIN_CHANGE):
            kept.append(start)
    return kept


def _name_segments(levels: list[float]) -> list[str]:
    """Name segments: fitting before the lowest later one, diffusion after it."""
    if len(levels) == 1:
        return ["fitting"]
    lowest = 1 + int(np.argmin(levels[1:]))
    if levels[lowest] > levels[0]:  # the first is the lowest
        return ["fitting", *["diffusion"] * (len(levels) - 1)]
    before, after = ["fitting"] * lowest, ["diffusion"] * (len(levels) - lowest - 1)
    return [*before, "transition", *after]
