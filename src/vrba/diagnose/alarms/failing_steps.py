"""Steps that lead nowhere."""

from ._base import AbstractAlarm, Record, last_with


class FailingSteps(AbstractAlarm):
    """Since one of the last `count` entries of the log, or the start, at least `fewest`
    steps, and more than `share` of them, found no descent."""

    share: float = 0.1
    fewest: int = 3
    count: int = 3

    @property
    def advice(self) -> str:
        """Noise or rounding."""
        return (
            "Often the loss has reached what rounding lets it: look at `dtype`. "
            "Otherwise redraw points less often, or begin with Adam "
            "(`--optimizer adam-ssbroyden`)."
        )

    def look(self, record: Record) -> str | None:
        """Whether it is so."""
        if len(record) <= self.count:
            record = [{"step": 0, "num_failed": 0}, *record]
        for back in range(2, self.count + 2):
            last = last_with(record, back, "num_failed", "step")
            if last is None:
                return None
            failed = last[-1]["num_failed"] - last[0]["num_failed"]
            steps = last[-1]["step"] - last[0]["step"]
            if failed >= self.fewest and failed > self.share * steps:
                return (
                    f"Line searches fail: {failed} of the last {steps} steps found no "
                    "way down."
                )
        return None
