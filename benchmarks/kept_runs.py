"""Comparisons whose runs were made in several sittings, or on several machines.

Run folders stay where they were made; a kept exhibit has the result of each run. An
experiment that several exhibits show is the same in all of them.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from vrba.cli.arms import Settings
from vrba.cli.comparison import content_of
from vrba.cli.output import as_json
from vrba.cli.paper.result import result_of
from vrba.cli.reproduce import known_exhibits
from vrba.cli.watcher import name_of_run
from vrba.core import is_same_description
from vrba.train.train_operator import is_same_data

SAME = ("command", "target", "param", "flags")  # else runs are not of one comparison

Content = Mapping[str, Any]


def exhibit_of(
    name: str, scale: str, contents: Mapping[str, Content]
) -> dict[str, Any]:
    """A table or a figure of comparisons that are known by name."""
    exhibit = known_exhibits()[name]
    nothing = {"failures": {}}
    found = {one.name: contents.get(one.name, nothing) for one in exhibit.experiments}
    return json.loads(as_json(result_of(exhibit, scale, found)))


def comparisons_of(results: Iterable[Content]) -> dict[str, Content]:
    """All comparisons of some exhibits of one scale, each with all of its runs; those
    of a result that comes first are preferred, and may be newer."""
    found: dict[str, Content] = {}
    for result in results:
        for name, content in result["comparisons"].items():
            found[name] = joined(found.get(name, {}), content)
    return found


def runs_of(results: Iterable[Content]) -> set[tuple[str, str, int]]:
    """Experiment, arm and seed of all runs."""
    return {
        (name, run["arm"], run["seed"])
        for result in results
        for name, content in result["comparisons"].items()
        for run in content.get("runs", ())
    }


def joined(new: Content, old: Content) -> Content:
    """The runs of `new`, and those of `old` that it lacks if they have the same problem
    and settings, arms and seeds apart."""
    if not old.get("runs"):
        return {**new, "failures": _failures(new, old)}
    if not new.get("runs"):
        return _content(old["settings"], old, old["runs"], _failures(new, old))
    if not _are_alike(new, old):
        return new
    there = {(run["arm"], run["seed"]) for run in new["runs"]}
    left = [r for r in old["runs"] if (r["arm"], r["seed"]) not in there]
    runs, failures = [*new["runs"], *left], _failures(new, old)
    arms = dict.fromkeys([*new["settings"]["arms"], *old["settings"]["arms"]])
    seeds = {run["seed"] for run in runs}
    num_seeds = max(seeds) - min(seeds) + 1
    settings = {**new["settings"], "arms": [*arms], "first_seed": min(seeds)}
    programs = [p for p in old["programs"] if left and p not in new["programs"]]
    both = {**new, "programs": [*new["programs"], *programs]}
    return _content(settings | {"num_seeds": num_seeds}, both, runs, failures)


def _failures(new: Content, old: Content) -> dict[str, str]:
    """Of both; a run that has ended in one of them has not failed in the other."""
    found = {}
    for one, other in ((old, new), (new, old)):
        runs = other.get("runs", ())
        ended = {name_of_run(run["arm"], run["seed"]) for run in runs}
        told = one.get("failures", {}).items()
        found |= {name: why for name, why in told if name not in ended}
    return found


def _are_alike(new: Content, old: Content) -> bool:
    """Of a time the threads must be the same, too."""
    names = [*SAME, *["num_threads"] * ("minutes" in new["settings"]["flags"])]
    asked = [
        json.loads(as_json({name: one["settings"][name] for name in names}))
        for one in (old, new)
    ]
    is_alike = (
        is_same_data if new["settings"]["command"] == "train" else is_same_description
    )
    one, other = map(_problem, (old, new))  # either may tell more
    return is_same_description(*asked) and (
        is_alike(one, other) or is_alike(other, one)
    )


def _problem(content: Content) -> dict[str, Any]:
    """What tells it from others: of a problem that comes with the package its name and
    settings, since its file may change in what is none of theirs."""
    problem = content["problem"]
    is_shipped = problem.get("is_shipped", False)
    return {k: v for k, v in problem.items() if not (is_shipped and k == "source")}


def _content(
    settings: Content, of: Content, runs: Iterable[Content], failures: dict[str, str]
) -> dict[str, Any]:
    """As a folder with these runs would have it, in the order of their settings."""
    parts = {name: tuple(settings[name]) for name in ("param", "arms")}
    asked = Settings(**{**settings, **parts})
    order = {run: place for place, run in enumerate(asked.runs())}
    found = sorted(map(_restored, runs), key=lambda r: order[r["arm"], r["seed"]])
    return content_of(asked, of["problem"], of["programs"], found, failures)


def _restored(run: Content) -> dict[str, Any]:
    """A number that is not finite is null in a file."""
    number = lambda value: math.inf if value is None else value
    parts = {
        name: {key: number(value) for key, value in part.items()}
        if isinstance(part, dict)
        else number(part)
        for name, part in run.items()
    }
    return parts | {"error": parts["error"] if run["error"] else run["error"]}
