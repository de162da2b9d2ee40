"""Runs that may be held against one another."""

from typing import Any, NamedTuple

from .arms import ARMS

Runs = dict[str, list[dict[str, Any]]]


class Key(NamedTuple):
    """What runs share."""

    problem: str
    minutes: float
    threads: int
    depth: int
    width: int
    points: int
    pool: int


def grouped(known: dict[str, dict[str, Any]]) -> dict[Key, Runs]:
    """Runs by what they share, then by arm, in the order of the arms."""
    groups: dict[Key, Runs] = {}
    order = [arm.name for arm in ARMS]
    for run in known.values():
        key = Key(*(run["settings"][name] for name in Key._fields))
        groups.setdefault(key, {}).setdefault(run["arm"], []).append(run)
    rank = lambda item: order.index(item[0]) if item[0] in order else len(order)
    return {
        key: dict(sorted(runs.items(), key=rank))
        for key, runs in sorted(groups.items())
    }
