"""The equations get better at the expense of the conditions."""

import statistics

from ._base import AbstractAlarm, Record, last_with

_KEY = "residual_l2 "


class GrowingConditions(AbstractAlarm):
    """Within the last `count` entries the equations' residual fell by `factor`, and
    that of a condition grew by `factor` and makes at least `share` of the score;
    medians of thirds are compared."""

    factor: float = 2.0
    share: float = 0.01
    count: int = 9

    @property
    def advice(self) -> str:
        """Weigh it more."""
        return (
            "Raise the weight of that condition (`Penalty(weight=...)`), let gradient "
            "norms balance the terms (`GradientNorms()`), or make it exact with an "
            "`Ansatz`."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        names = [key for key in (record[-1] if record else {}) if key.startswith(_KEY)]
        needed = ("residual_l2", "score", *names)
        last = last_with(record, self.count, *needed) if names else None
        if last is None:
            return None
        change = lambda name: _change([entry[name] for entry in last])
        if change("residual_l2") * self.factor > 1:
            return None
        for name in names:
            matters = last[-1][name] ** 2 >= self.share * last[-1]["score"]
            if change(name) >= self.factor and matters:
                return (
                    "The residual of the equations falls, but that of the condition "
                    f"`{name.removeprefix(_KEY)}` grows: {change(name):.3g} times "
                    f"within {last[-1]['step'] - last[0]['step']} steps."
                )
        return None


def _change(values: list[float]) -> float:
    """The last third over the first."""
    third = len(values) // 3
    first = statistics.median(values[:third])
    return statistics.median(values[-third:]) / max(first, 1e-300)
