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
from vrba.cli.outcome import as_json
from vrba.cli.paper.result import result_of
from vrba.cli.reproduce import known_exhibits
from vrba.cli.watcher import name_of_run
from vrba.core import is_same

SAME = ("command", "target", "set", "flags")  # else runs are not of one comparison

Content = Mapping[str, Any]


def exhibit_of(name: str, scale: str, contents: Mapping[str, Content]) -> dict:
    """A table or a figure of comparisons that are known by name."""
    exhibit = known_exhibits()[name]
    nothing = {"failures": {}}
    found = {one.name: contents.get(one.name, nothing) for one in exhibit.experiments}
    return json.loads(as_json(result_of(exhibit, scale, found)))


def comparisons_of(results: Iterable[Content]) -> dict[str, Content]:
    """All comparisons of some exhibits of one scale, each with all of its runs; those
    of an earlier one are preferred."""
    found: dict[str, Content] = {}
    for result in results:
        for name, content in result["comparisons"].items():
            found[name] = joined(found.get(name, {}), content)
    return found


def joined(one: Content, other: Content) -> Content:
    """The runs of `one`, and those of `other` that it lacks if they have the same
    problem and settings, arms and seeds apart."""
    if not other.get("runs"):
        return one or other
    if not one.get("runs"):
        return _content(other["settings"], other, other["programs"], other["runs"])
    there = {(run["arm"], run["seed"]) for run in one["runs"]}
    left = [r for r in other["runs"] if (r["arm"], r["seed"]) not in there]
    if not left or not _are_alike(one, other):
        return one
    programs = [p for p in other["programs"] if p not in one["programs"]]
    runs = [*one["runs"], *left]
    arms = dict.fromkeys([*one["settings"]["arms"], *other["settings"]["arms"]])
    seeds = {run["seed"] for run in runs}
    first, last = min(seeds), max(seeds)
    settings = one["settings"] | {"arms": [*arms], "first_seed": first}
    settings["num_seeds"] = last - first + 1
    ended = {name_of_run(*run) for run in there}
    failed = {n: why for n, why in other["failures"].items() if n not in ended}
    both = {**one, "failures": failed | one["failures"]}
    return _content(settings, both, [*one["programs"], *programs], runs)


def _are_alike(one: Content, other: Content) -> bool:
    return is_same(_described(one), _described(other))


def _described(content: Content) -> dict[str, Any]:
    """What must be the same, as a file has it."""
    asked = {name: content["settings"][name] for name in SAME}
    return json.loads(as_json(asked | {"problem": content["problem"]}))


def _content(
    settings: Mapping[str, Any], of: Content, programs: list, runs: list
) -> dict[str, Any]:
    """As a folder with these runs would have it, in the order of their settings."""
    parts = {name: tuple(settings[name]) for name in ("set", "arms")}
    asked = Settings(**{**settings, **parts})
    order = {run: place for place, run in enumerate(asked.runs())}
    found = sorted(map(_finite_or_not, runs), key=lambda r: order[r["arm"], r["seed"]])
    return content_of(asked, of["problem"], programs, found, of["failures"])


def _finite_or_not(run: Mapping[str, Any]) -> dict[str, Any]:
    """A number that is not finite is null in a file."""
    number = lambda value: math.inf if value is None else value
    parts = {
        name: {key: number(value) for key, value in part.items()}
        for name, part in run.items()
        if isinstance(part, dict)
    }
    return dict(run) | parts
