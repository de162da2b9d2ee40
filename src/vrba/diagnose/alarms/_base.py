"""The interface of an alarm."""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx

Entry = Mapping[str, Any]
Record = Sequence[Entry]


class Finding(NamedTuple):
    """What was seen at which step, and what to try."""

    name: str
    step: int
    text: str
    advice: str


class AbstractAlarm(eqx.Module):
    """A rule that looks at the log of a run so far. Settings are its thresholds."""

    @property
    @abc.abstractmethod
    def advice(self) -> str:
        """What to try."""

    @abc.abstractmethod
    def look(self, record: Record) -> str | None:
        """What is wrong after the last entry of `record`, in a sentence, if anything.

        The log may lack any of its numbers: then nothing is wrong.
        """


def last_with(record: Record, count: int, *names: str) -> list[Entry] | None:
    """The last `count` entries that have all these numbers; none unless the very last
    entry is among them."""
    if not record or not _has(record[-1], names):
        return None
    found: list[Entry] = []
    for entry in reversed(record):
        if _has(entry, names):
            found.append(entry)
        if len(found) == count:
            return found[::-1]
    return None


def _has(entry: Entry, names: Sequence[str]) -> bool:
    """Whether all of them are numbers; what is not finite is null in a file."""
    values = [entry.get(name) for name in names]
    return all(value is not None and math.isfinite(value) for value in values)
