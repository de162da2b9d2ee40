"""A policy that does nothing."""

from ._base import AbstractAlarm, Entry, Record, last_with


class IdleTilt(AbstractAlarm):
    """The tilt is within `most` of its base (Kullback-Leibler), three times in a row,
    although residuals scatter by more than `least_scatter` of their mean.

    A tilt that is the base exactly is what was asked for.
    """

    most: float = 1e-3
    least_scatter: float = 0.5

    @property
    def advice(self) -> str:
        """A stronger tilt."""
        return (
            "Tilt more: redraw more often if the temperature is annealed (its weights "
            "differ by at most a power of the number of redraws), or give a target "
            "with `EffectiveSize`, or a mix nearer to one."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        last = last_with(record, 3, "kl", "scatter")
        if last is None or not all(self._is_idle(entry) for entry in last):
            return None
        return (
            "The tilt cannot be told from none: its Kullback-Leibler distance from the "
            f"base is {last[-1]['kl']:.1e}, while residuals scatter by "
            f"{last[-1]['scatter']:.1f} times their mean."
        )

    def _is_idle(self, entry: Entry) -> bool:
        is_asked_for = entry["kl"] <= 1e-12
        is_even = entry["scatter"] < self.least_scatter
        return entry["kl"] < self.most and not is_asked_for and not is_even
