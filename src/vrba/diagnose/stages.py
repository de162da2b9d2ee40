"""Fitting, transition, diffusion: the stages of learning, found by a stated rule."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

MEASURE = "snr_unit"
_MOST_LEVELS = 3
_FEWEST = 4  # measurements in a stage
_MOST_PLACES = 300
_LEAST_CHANGE = 1.5  # of the ratio between two stages


class Stage(NamedTuple):
    """`name` is "fitting", "transition" or "diffusion"; both steps belong to it."""

    name: str
    first_step: int
    last_step: int


def find_stages(record: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """The stages of a run from the logged signal-to-noise ratio of its gradients.

    The rule: the logarithm of the ratio over the measurements is split into one, two or
    three stretches of constant level (`split_levels`); neighbours whose ratios differ
    by less than a factor of 1.5 count as one. The first stretch is fitting: gradients
    agree. The lowest one after it is transition: they disagree. What comes after the
    lowest one is diffusion: they agree again, as the residual has become even. If all
    later stretches lie above the first, they are diffusion. With fewer than eight
    measurements there is one stage, with none there is no stage.
    """
    known = [entry for entry in record if (entry.get(MEASURE) or 0) > 0]
    if not known:
        return []
    if len(known) > _MOST_PLACES:
        chosen = np.linspace(0, len(known) - 1, _MOST_PLACES).astype(int)
        known = [known[k] for k in chosen]
    logs = np.log([entry[MEASURE] for entry in known])
    starts = _merged(logs, split_levels(logs, _MOST_LEVELS, _FEWEST))
    names = _names([float(np.mean(part)) for part in np.split(logs, starts[1:])])
    steps = [int(entry["step"]) for entry in known]
    firsts = [steps[start] for start in starts]
    lasts = [steps[start - 1] for start in starts[1:]] + [steps[-1]]
    stages = [Stage(*each) for each in zip(names, firsts, lasts, strict=True)]
    return [_joined(list(group)) for _, group in groupby(stages, lambda s: s.name)]


def _joined(stages: list[Stage]) -> Stage:
    """Neighbours of one name as one stage."""
    return Stage(stages[0].name, stages[0].first_step, stages[-1].last_step)


def split_levels(
    values: Float[np.ndarray, " places"], most: int = 3, fewest: int = 4
) -> list[int]:
    """Where each stretch of constant level begins, the first at zero.

    The best split into `k` stretches of at least `fewest` values minimises the sum of
    squares about their means, found exactly; `k` up to `most` minimises Schwarz's
    criterion with the price of a change point, `n log(squares / n) + 3 k log n` (a
    simple form of that of Zhang and Siegmund 2007). It assumes that values scatter
    independently: a slow drift is split as well.
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
    """`[i, j]`: the sum of squares of `values[i:j]` about their mean."""
    centred = values - np.mean(values)
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    size = np.maximum(np.arange(sums.size)[None] - np.arange(sums.size)[:, None], 1)
    within = squares[None] - squares[:, None] - (sums[None] - sums[:, None]) ** 2 / size
    return np.maximum(within, 0.0)


def _split(squares: np.ndarray, number: int, fewest: int) -> tuple[list[int], float]:
    """The best beginnings of so many stretches, and their sum of squares."""
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


def _merged(logs: np.ndarray, starts: list[int]) -> list[int]:
    """Without beginnings at which the level hardly changes."""
    kept = [0]
    for start, end in pairwise([*starts[1:], logs.size]):
        change = np.mean(logs[start:end]) - np.mean(logs[kept[-1] : start])
        if abs(change) >= np.log(_LEAST_CHANGE):
            kept.append(start)
    return kept


def _names(levels: list[float]) -> list[str]:
    """By level: all before the lowest later one are fitting, all after it diffusion."""
    if len(levels) == 1:
        return ["fitting"]
    lowest = 1 + int(np.argmin(levels[1:]))
    if levels[lowest] > levels[0]:  # it was lowest at first
        return ["fitting", *["diffusion"] * (len(levels) - 1)]
    before, after = ["fitting"] * lowest, ["diffusion"] * (len(levels) - lowest - 1)
    return [*before, "transition", *after]
