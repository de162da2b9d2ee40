"""The residual is as small as rounding lets it be."""

from ._base import AbstractAlarm, Record, last_with


class RoundingFloor(AbstractAlarm):
    """Changing every parameter in its last digit changes the residual by more than
    `share` of itself, three times in a row."""

    share: float = 0.3

    @property
    def advice(self) -> str:
        """More digits."""
        return (
            "More training will not help: take `--dtype float64`; if that is what you "
            "have, this is the end."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        last = last_with(record, 3, "rounding_l2", "residual_l2")
        if last is None:
            return None
        shares = [e["rounding_l2"] / max(e["residual_l2"], 1e-300) for e in last]
        if min(shares) <= self.share:
            return None
        return (
            "The floor of the arithmetic is reached: rounding alone makes "
            f"{last[-1]['rounding_l2']:.1e} of the residual of "
            f"{last[-1]['residual_l2']:.1e}."
        )
