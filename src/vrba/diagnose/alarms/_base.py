"""The interface of an alarm."""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx

Entry = Mapping[str, Any]
Record = Sequence[Entry]


class Finding(NamedTuple):
    """A warning of one alarm: at which step, what is wrong, and what to try."""

    name: str
    step: int
    text: str
    advice: str


class AbstractAlarm(eqx.Module):
    """A rule that checks the record of a run. Its settings are thresholds.

    `advice` names remedies that a user can type.
    """

    advice: ClassVar[str]

    @abc.abstractmethod
    def check(self, record: Record) -> str | None:
        """Return a sentence if something is wrong after the last entry, else `None`.

        Entries may lack any number; then the result is `None`.
        """


def last_entries(record: Record, count: int, *names: str) -> list[Entry] | None:
    """Return the last `count` entries with finite numbers under all names.

    Return `None` if there are fewer, or if the very last entry is not among them.
    """
    if not record or not _has_numbers(record[-1], names):
        return None
    found: list[Entry] = []
    for entry in reversed(record):
        if _has_numbers(entry, names):
            found.append(entry)
        if len(found) == count:
            return found[::-1]
    return None


def _has_numbers(entry: Entry, names: Sequence[str]) -> bool:
    """Whether all values are finite numbers; files store others as null."""
    values = [entry.get(name) for name in names]
    return all(value is not None and math.isfinite(value) for value in values)
