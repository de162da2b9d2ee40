"""Solutions of one problem with several seeds: the best one, and their spread."""

import itertools
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from .solution import Solution


def best_of(solutions: Sequence[Solution]) -> int:
    """Index of the best solution, without a reference.

    It has the lowest estimated error. Unless all estimates are reliable, it has the
    lowest score on held-out points.
    """
    results = [solution.result for solution in solutions]
    has_estimates = all(one.get("estimate_is_reliable", False) for one in results)
    name = "estimated_error" if has_estimates else "score"
    return min(range(len(results)), key=lambda k: results[k][name])


def disagreement(solutions: Sequence[Solution]) -> float:
    """The largest L2 distance between two solutions of one problem, relative to their
    mean: an indicator of accuracy without a reference."""
    values = []
    for solution in solutions:
        grid = solution.grid()
        fields = solution.problem.fields
        values.append(np.concatenate([np.ravel(grid[name]) for name in fields]))
    is_inside = ~np.all(np.isnan(values), axis=0)
    values = [value[is_inside] for value in values]
    pairs = itertools.combinations(values, 2)
    largest = max((float(np.linalg.norm(a - b)) for a, b in pairs), default=0.0)
    return largest / float(np.linalg.norm(np.mean(values, axis=0)))


def spread_of_unknowns(solutions: Sequence[Solution]) -> dict[str, list[float]]:
    """Mean and standard deviation over seeds of each unknown coefficient."""
    found = {}
    for name in solutions[0].result["unknowns"]:
        values = [solution.result["unknowns"][name] for solution in solutions]
        found[name] = [statistics.mean(values), statistics.stdev(values)]
    return found


def summary_of_seeds(solutions: Sequence[Solution]) -> dict[str, Any]:
    """The result of the best seed as plain values; of several also their spread."""
    each = [solution.summary() for solution in solutions]
    if len(each) == 1:
        return each[0]
    return each[best_of(solutions)] | {
        "disagreement": disagreement(solutions),
        "spread_of_unknowns": spread_of_unknowns(solutions),
        "runs": each,
    }


def sentence_of_seeds(solutions: Sequence[Solution]) -> str:
    """The result of the best seed in words; of several also their spread."""
    text = solutions[best_of(solutions)].sentence()
    if len(solutions) == 1:
        return text
    for name, (mean, deviation) in spread_of_unknowns(solutions).items():
        text += f" Over the seeds {name} = {mean:.6g} +- {deviation:.1g}."
    return (
        f"{text} {len(solutions)} seeds disagree by {disagreement(solutions):.2e} "
        "(largest relative L2 distance between two solutions), an indicator of "
        "accuracy. This is the best of them by estimated error or residual."
    )
