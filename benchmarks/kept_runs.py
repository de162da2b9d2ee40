"""Stored comparisons whose runs were made at several times, or on several machines.

Run folders stay where they were made; a stored table or figure has the result of each
run. An experiment that several of them show is the same in all of them.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from vrba.compare import (
    DataCase,
    ProblemCase,
    as_json,
    content_of,
    run_name,
    settings_from,
)
from vrba.core import is_same_description
from vrba.paper import known_items, result_of

SAME = ("command", "target", "param", "flags")  # for all runs of a comparison

Content = Mapping[str, Any]


def item_of(name: str, scale: str, contents: Mapping[str, Content]) -> dict[str, Any]:
    """The result of a table or figure, from comparisons by name."""
    item, nothing = known_items()[name], {"failures": {}}
    found = {one.name: contents.get(one.name, nothing) for one in item.experiments}
    return json.loads(as_json(result_of(item, scale, found)))


def comparisons_of(results: Iterable[Content]) -> dict[str, Content]:
    """All comparisons of some results of one scale, each with all of its runs; runs of
    earlier results replace those of later ones."""
    found: dict[str, Content] = {}
    for result in results:
        for name, content in result["comparisons"].items():
            found[name] = joined(found.get(name, {}), content)
    return found


def runs_of(results: Iterable[Content]) -> set[tuple[str, str, int]]:
    """Experiment, method and seed of all runs."""
    return {
        (name, run["method"], run["seed"])
        for result in results
        for name, content in result["comparisons"].items()
        for run in content.get("runs", ())
    }


def joined(new: Content, old: Content) -> Content:
    """The runs of `new`, and those of `old` that it lacks, if both have the same
    problem and the same settings, apart from methods and seeds."""
    if not old.get("runs"):
        return {**new, "failures": _failures(new, old)}
    if not new.get("runs"):
        return _content(old["settings"], old, old["runs"], _failures(new, old))
    if not _are_alike(new, old):
        return new
    there = {(run["method"], run["seed"]) for run in new["runs"]}
    left = [r for r in old["runs"] if (r["method"], r["seed"]) not in there]
    runs, failures = [*new["runs"], *left], _failures(new, old)
    methods = dict.fromkeys([*new["settings"]["methods"], *old["settings"]["methods"]])
    seeds = {run["seed"] for run in runs}
    settings = {**new["settings"], "methods": [*methods], "first_seed": min(seeds)}
    settings |= {"num_seeds": max(seeds) - min(seeds) + 1}
    programs = [p for p in old["programs"] if left and p not in new["programs"]]
    both = {**new, "programs": [*new["programs"], *programs]}
    return _content(settings, both, runs, failures)


def _failures(new: Content, old: Content) -> dict[str, str]:
    """Failures of both, without runs that ended in the other."""
    found = {}
    for one, other in ((old, new), (new, old)):
        runs = other.get("runs", ())
        ended = {run_name(run["method"], run["seed"]) for run in runs}
        failures = one.get("failures", {}).items()
        found |= {name: why for name, why in failures if name not in ended}
    return found


def _are_alike(new: Content, old: Content) -> bool:
    """Whether runs of both can be compared; with a time limit the number of threads
    must be the same, too."""
    names = [*SAME, *["num_threads"] * ("minutes" in new["settings"]["flags"])]
    asked = [
        json.loads(as_json({name: one["settings"][name] for name in names}))
        for one in (old, new)
    ]
    case = DataCase if new["settings"]["command"] == "train" else ProblemCase
    one, other = map(_problem, (old, new))  # either description may have more
    return is_same_description(*asked) and (
        case.is_same(one, other) or case.is_same(other, one)
    )


def _problem(content: Content) -> dict[str, Any]:
    """The description of the problem; that of a shipped one without its source, which
    may change elsewhere in the file."""
    problem = content["problem"]
    is_shipped = problem.get("is_shipped", False)
    return {k: v for k, v in problem.items() if not (is_shipped and k == "source")}


def _content(
    settings: Content, of: Content, runs: Iterable[Content], failures: dict[str, str]
) -> dict[str, Any]:
    """The content of a `comparison.json` with these runs."""
    asked = settings_from(settings)
    order = {run: place for place, run in enumerate(asked.runs())}
    found = sorted(map(_restored, runs), key=lambda r: order[r["method"], r["seed"]])
    return content_of(asked, of["problem"], of["programs"], found, failures)


def _restored(run: Content) -> dict[str, Any]:
    """The run with infinity where the file has null."""
    number = lambda value: math.inf if value is None else value
    parts = {
        name: {key: number(value) for key, value in part.items()}
        if isinstance(part, dict)
        else number(part)
        for name, part in run.items()
    }
    return parts | {"error": parts["error"] if run["error"] else run["error"]}
