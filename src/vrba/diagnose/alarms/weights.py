"""Alarms about weights: too concentrated, or without effect."""

from typing import ClassVar

from typing_extensions import override

from ._base import AbstractAlarm, Entry, Record, last_entries


class CollapsedWeights(AbstractAlarm):
    """The effective sample size is below `share` of the pool, three times in a row."""

    advice: ClassVar[str] = (
        "Tilt less: use a potential that grows more slowly (`--potential quadratic`), "
        "a larger temperature or target effective size, or `mix` below one. If single "
        "points dominate, wrap the policy in `Capped`."
    )

    share: float = 0.01

    @override
    def check(self, record: Record) -> str | None:
        last = last_entries(record, 3, "effective_share")
        if last is None or any(e["effective_share"] >= self.share for e in last):
            return None
        return (
            "The weights have collapsed: their effective sample size is "
            f"{last[-1]['effective_share']:.2%} of the pool."
        )


class IdleTilt(AbstractAlarm):
    """The tilt stays close to its base although residuals vary, three times in a row.

    `most` is the largest Kullback-Leibler divergence from the base, `least_scatter` the
    smallest ratio of the standard deviation of residuals to their mean. A tilt equal to
    the base is a choice of the user and raises no alarm.
    """

    advice: ClassVar[str] = (
        "Tilt more: set a target effective size (`EffectiveSize(0.3)`) or `mix` closer "
        "to one. With an annealed temperature, lower `--resample-every`, as its "
        "weights grow with the number of resamplings."
    )

    most: float = 1e-3
    least_scatter: float = 0.5

    @override
    def check(self, record: Record) -> str | None:
        last = last_entries(record, 3, "kl", "scatter")
        if last is None or not all(self._is_idle(entry) for entry in last):
            return None
        return (
            "The tilt has almost no effect: its Kullback-Leibler divergence from the "
            f"base is {last[-1]['kl']:.1e}, although the residuals' standard deviation "
            f"is {last[-1]['scatter']:.1f} times their mean."
        )

    def _is_idle(self, entry: Entry) -> bool:
        is_chosen = entry["kl"] <= 1e-12
        is_uniform = entry["scatter"] < self.least_scatter
        return entry["kl"] < self.most and not is_chosen and not is_uniform
