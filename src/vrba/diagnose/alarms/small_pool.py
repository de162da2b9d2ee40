"""The network fits the points of its pool, not what is between them."""

from ._base import AbstractAlarm, Record, last_with


class SmallPool(AbstractAlarm):
    """The residual on points never trained on is `ratio` times that on the pool, in
    `count` measurements in a row."""

    ratio: float = 2.0
    count: int = 3

    @property
    def advice(self) -> str:
        """More points."""
        return (
            "Take a larger pool (`--pool`) and more points (`--points`), or a smaller "
            "network."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        last = last_with(record, self.count, "pool_l2", "residual_l2")
        if last is None:
            return None
        ratios = [e["residual_l2"] / max(e["pool_l2"], 1e-300) for e in last]
        if min(ratios) <= self.ratio:
            return None
        return (
            "The pool is too small: the residual on fresh points is "
            f"{ratios[-1]:.1f} times that on the pool."
        )
