"""Alarms about the terms of a loss: out of balance, at others' cost, or too few."""

import statistics
from typing import ClassVar

from typing_extensions import override

from ._base import AbstractAlarm, Record, last_entries

_GRADIENT = "gradient "
_RESIDUAL = "residual_l2 "


class DominantTerm(AbstractAlarm):
    """One term has most of the gradient, in `count` measurements in a row.

    Its gradient is `ratio` times as long as all others together. Terms without gradient
    are ignored, as their conditions are satisfied exactly.
    """

    advice: ClassVar[str] = (
        "Lower the weight of that term (`Penalty(weight=...)`), balance the terms by "
        "gradient norms (`GradientNorms()`), or make its condition a hard constraint "
        "(`Ansatz`)."
    )

    ratio: float = 100.0
    count: int = 5

    @override
    def check(self, record: Record) -> str | None:
        names = _keys_with(record, _GRADIENT)
        last = last_entries(record, self.count, *names) if len(names) > 1 else None
        if last is None:
            return None
        for name in names:
            others = [sum(e[n] for n in names if n != name) for e in last]
            lengths = [entry[name] for entry in last]
            pairs = zip(lengths, others, strict=True)
            if all(length > self.ratio * other > 0 for length, other in pairs):
                return (
                    f"The term `{name.removeprefix(_GRADIENT)}` dominates the loss: "
                    f"its gradient is {lengths[-1] / others[-1]:.3g} times as long as "
                    "those of all other terms together."
                )
        return None


class GrowingConditions(AbstractAlarm):
    """The residual of the equations falls while that of a condition grows.

    Both change by `factor` within the last `count` entries (medians of the first and
    last third), and the condition makes at least `share` of the score.
    """

    advice: ClassVar[str] = (
        "Raise the weight of that condition (`Penalty(weight=...)`), balance the terms "
        "by gradient norms (`GradientNorms()`), or make it a hard constraint "
        "(`Ansatz`)."
    )

    factor: float = 2.0
    share: float = 0.01
    count: int = 9

    @override
    def check(self, record: Record) -> str | None:
        names = _keys_with(record, _RESIDUAL)
        needed = ("residual_l2", "score", *names)
        last = last_entries(record, self.count, *needed) if names else None
        if last is None:
            return None
        change = lambda name: _relative_change([entry[name] for entry in last])
        if change("residual_l2") * self.factor > 1:
            return None
        for name in names:
            is_relevant = last[-1][name] ** 2 >= self.share * last[-1]["score"]
            if change(name) >= self.factor and is_relevant:
                return (
                    "The residual of the equations falls, but that of the condition "
                    f"`{name.removeprefix(_RESIDUAL)}` has grown {change(name):.3g} "
                    f"times within {last[-1]['step'] - last[0]['step']} steps."
                )
        return None


class UndeterminedPart(AbstractAlarm):
    """A part of the solution that no equation and no condition determines."""

    advice: ClassVar[str] = (
        "Until then the solution is one of many, and an error against a reference "
        "contains this part."
    )

    @override
    def check(self, record: Record) -> str | None:
        parts = record[-1].get("undetermined") if record else None
        return " ".join(parts) if parts else None


def _keys_with(record: Record, prefix: str) -> list[str]:
    """Return the keys of the last entry that start with `prefix`."""
    return [key for key in (record[-1] if record else {}) if key.startswith(prefix)]


def _relative_change(values: list[float]) -> float:
    """Return the median of the last third over that of the first third."""
    third = len(values) // 3
    first = statistics.median(values[:third])
    return statistics.median(values[-third:]) / max(first, 1e-300)
