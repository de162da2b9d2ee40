"""Stored runs of `benchmarks.robust` by kind, and what they have in common."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .polish_page import bound, spread
from .robust_sets import Kind

Runs = Sequence[Mapping[str, Any]]
Groups = Sequence[tuple[Kind, Runs]]


def grouped(kinds: Iterable[Kind], runs: Runs) -> Groups:
    """The runs of each kind that has any, in the order of the set."""
    found = []
    for kind in kinds:
        own = [one for one in runs if is_of(one, kind)]
        if own:
            found.append((kind, sorted(own, key=lambda one: one["seed"])))
    return found


def is_of(run: Mapping[str, Any], kind: Kind) -> bool:
    """Whether a run is of this kind."""
    return (run["problem"], run["variant"], run["minutes"]) == kind[:3]


def errors_text(runs: Runs, key: str) -> str:
    """The spread of errors, and the number of runs without any."""
    ended = [run for run in runs if "error" in run]
    text = spread([bound(run, run[key]) for run in ended])
    num_failed = len(runs) - len(ended)
    missing = f"{num_failed} of {len(runs)} without a result" if num_failed else ""
    return "; ".join(part for part in (text, missing) if part)


def median_error(runs: Runs) -> float | None:
    """The lower median of errors, with bounds; none if half of the runs have none."""
    values = sorted(bound(run, run["error"])[0] for run in runs if "error" in run)
    place = (len(runs) - 1) // 2
    return values[place] if place < len(values) else None


def statuses(runs: Runs) -> str:
    """The statuses of runs, each once."""
    found = [run.get("status") or "none" for run in runs if "failure" not in run]
    found += ["no result" for run in runs if "failure" in run]
    return ", ".join(dict.fromkeys(found))


def middle_of(values: Iterable[float]) -> str:
    """The lower median of counts or seconds."""
    found = list(values)
    return f"{statistics.median_low(found):.0f}" if found else ""
