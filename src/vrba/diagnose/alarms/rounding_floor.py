"""The residual is as small as rounding lets it be."""

from ._base import AbstractAlarm, Record, last_with


class RoundingFloor(AbstractAlarm):
    """Changing every parameter in its last digit changes the residual by more than
    `share` of itself, or by more than `share_if_stalled` while the best score of the
    last `count` measurements has not been halved."""

    share: float = 0.3
    share_if_stalled: float = 0.005
    count: int = 6

    @property
    def advice(self) -> str:
        """More digits."""
        return (
            "More training will not help: take `--dtype float64`; if that is what you "
            "have, this is the end."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        last = last_with(record, self.count, "rounding_l2", "residual_l2", "score")
        if last is None:
            return None
        shares = [e["rounding_l2"] / max(e["residual_l2"], 1e-300) for e in last]
        half = self.count // 2
        scores = [entry["score"] for entry in last]
        is_stalled = min(scores[half:]) > 0.5 * min(scores[:half])
        if min(shares) <= (self.share_if_stalled if is_stalled else self.share):
            return None
        return (
            "The floor of the arithmetic is reached: rounding the parameters alone "
            f"changes the residual of {last[-1]['residual_l2']:.1e} by "
            f"{last[-1]['rounding_l2']:.1e}, and optimizers lose more digits than that."
        )
