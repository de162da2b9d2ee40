"""Few points have all the weight."""

from ._base import AbstractAlarm, Record, last_with


class CollapsedWeights(AbstractAlarm):
    """The tilt is worth less than `share` of its points, three times in a row."""

    share: float = 0.01

    @property
    def advice(self) -> str:
        """A gentler tilt."""
        return (
            "Tilt less: a potential that grows more slowly (`--potential quadratic`), "
            "a larger temperature or target effective size, a mix below one, or "
            "`Capped` around the policy if single points stick out."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        last = last_with(record, 3, "effective_share")
        if last is None or any(e["effective_share"] >= self.share for e in last):
            return None
        return (
            "The weights have collapsed: they are worth "
            f"{last[-1]['effective_share']:.2%} of the points in the pool."
        )
