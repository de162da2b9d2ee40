"""Steps that lead nowhere."""

from ._base import AbstractAlarm, Record, last_with


class FailingSteps(AbstractAlarm):
    """More than `share` of the steps between two looks at it found no descent; looks
    are `count` entries of the log apart."""

    share: float = 0.1
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
        last = last_with(record, self.count + 1, "num_failed")
        if last is None:
            return None
        failed = last[-1]["num_failed"] - last[0]["num_failed"]
        steps = last[-1]["step"] - last[0]["step"]
        if failed <= self.share * steps:
            return None
        return (
            f"Line searches fail: {failed} of the last {steps} steps found no way down."
        )
