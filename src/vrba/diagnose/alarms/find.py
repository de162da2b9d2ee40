"""All alarms over a log."""

import functools
import inspect

from .. import alarms
from ._base import AbstractAlarm, Finding, Record

_MOST_ENTRIES = 200  # of a log that an alarm looks back


def find_warnings(record: Record) -> list[Finding]:
    """Of each alarm the first time that it rings, in the order of steps."""
    found: dict[str, Finding] = {}
    for end in range(1, len(record) + 1):
        for finding in listen(record[max(0, end - _MOST_ENTRIES) : end]):
            found.setdefault(finding.name, finding)
    return list(found.values())


def listen(record: Record) -> list[Finding]:
    """The alarms that ring after the last entry of a log."""
    recent = record[-_MOST_ENTRIES:]
    texts = {alarm: alarm.look(recent) for alarm in _all_alarms()}
    return [
        Finding(type(alarm).__name__, int(record[-1]["step"]), text, alarm.advice)
        for alarm, text in texts.items()
        if text is not None
    ]


@functools.cache
def _all_alarms() -> tuple[AbstractAlarm, ...]:
    return tuple(
        kind()
        for kind in vars(alarms).values()
        if inspect.isclass(kind)
        and issubclass(kind, AbstractAlarm)
        and not inspect.isabstract(kind)
    )
