"""Apply all alarms to the record of a run."""

import functools
import inspect

from .. import alarms
from ._base import AbstractAlarm, Finding, Record

_MAX_ENTRIES = 200  # of the record that an alarm may use


def find_warnings(record: Record) -> list[Finding]:
    """Return the first warning of each alarm over a whole record, in order of steps."""
    found: dict[str, Finding] = {}
    for end in range(1, len(record) + 1):
        for finding in find_current_warnings(record[max(0, end - _MAX_ENTRIES) : end]):
            found.setdefault(finding.name, finding)
    return list(found.values())


def find_current_warnings(record: Record) -> list[Finding]:
    """Return the warnings that hold after the last entry of a record."""
    recent = record[-_MAX_ENTRIES:]
    texts = {alarm: alarm.check(recent) for alarm in _all_alarms()}
    return [
        Finding(type(alarm).__name__, int(record[-1]["step"]), text, alarm.advice)
        for alarm, text in texts.items()
        if text is not None
    ]


@functools.cache
def _all_alarms() -> tuple[AbstractAlarm, ...]:
    """Return one alarm of each exported class, with its default thresholds."""
    return tuple(
        kind()
        for kind in vars(alarms).values()
        if inspect.isclass(kind)
        and issubclass(kind, AbstractAlarm)
        and not inspect.isabstract(kind)
    )
