"""Runs that may be held against one another."""

from typing import Any

from .arms import ARMS

Runs = dict[str, list[dict[str, Any]]]
Key = tuple[str, float, int, int, int, int, int]


def grouped(known: dict[str, dict[str, Any]]) -> dict[Key, Runs]:
    """Runs by what they share, then by arm, in the order of the arms."""
    groups: dict[Key, Runs] = {}
    order = [arm.name for arm in ARMS]
    for run in known.values():
        names = ("problem", "minutes", "threads", "depth", "width", "points", "pool")
        key: Any = tuple(run["settings"][name] for name in names)
        groups.setdefault(key, {}).setdefault(run["arm"], []).append(run)
    rank = lambda item: order.index(item[0]) if item[0] in order else len(order)
    return {
        key: dict(sorted(runs.items(), key=rank))
        for key, runs in sorted(groups.items())
    }
