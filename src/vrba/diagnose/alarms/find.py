"""All alarms over a log."""

import inspect

from .. import alarms
from ._base import AbstractAlarm, Finding, Record


def find_warnings(record: Record) -> list[Finding]:
    """Of each alarm the first time that it rings, in the order of steps."""
    found: dict[str, Finding] = {}
    for end in range(1, len(record) + 1):
        for finding in listen(record[:end]):
            found.setdefault(finding.name, finding)
    return list(found.values())


def listen(record: Record) -> list[Finding]:
    """The alarms that ring after the last entry of a log."""
    texts = {alarm: alarm.look(record) for alarm in _all_alarms()}
    return [
        Finding(type(alarm).__name__, int(record[-1]["step"]), text, alarm.advice)
        for alarm, text in texts.items()
        if text is not None
    ]


def _all_alarms() -> list[AbstractAlarm]:
    return [
        kind()
        for kind in vars(alarms).values()
        if inspect.isclass(kind)
        and issubclass(kind, AbstractAlarm)
        and not inspect.isabstract(kind)
    ]
