"""Alarms about training: failing steps, rounding errors, overfitting."""

from typing import ClassVar

from typing_extensions import override

from ._base import AbstractAlarm, Record, last_entries


class FailingSteps(AbstractAlarm):
    """Many of the recent steps found no descent.

    Since one of the last `count` entries, or since the start, these are at least
    `fewest` steps and more than `share` of all steps.
    """

    advice: ClassVar[str] = (
        "Rounding errors may dominate: use `--dtype float64`. Otherwise raise "
        "`--resample-every`, or start with Adam (`--optimizer adam-ssbroyden`)."
    )

    share: float = 0.1
    fewest: int = 3
    count: int = 3

    @override
    def check(self, record: Record) -> str | None:
        if len(record) <= self.count:
            record = [{"step": 0, "num_failed": 0}, *record]
        for back in range(2, self.count + 2):
            last = last_entries(record, back, "num_failed", "step")
            if last is None:
                return None
            failed = last[-1]["num_failed"] - last[0]["num_failed"]
            steps = last[-1]["step"] - last[0]["step"]
            if failed >= self.fewest and failed > self.share * steps:
                return (
                    f"Line searches fail: {failed} of the last {steps} steps found no "
                    "descent."
                )
        return None


class RoundingFloor(AbstractAlarm):
    """Rounding errors of the parameters limit the residual.

    A change of every parameter in its last digit changes the residual by more than
    `share` of itself. If the best score of the last `count` measurements has not been
    halved, `share_if_stalled` is the limit.
    """

    advice: ClassVar[str] = (
        "Use `--dtype float64`. If the run has it already, more training will not "
        "help: accept the result."
    )

    share: float = 0.3
    share_if_stalled: float = 0.005
    count: int = 6

    @override
    def check(self, record: Record) -> str | None:
        last = last_entries(record, self.count, "rounding_l2", "residual_l2", "score")
        if last is None:
            return None
        shares = [e["rounding_l2"] / max(e["residual_l2"], 1e-300) for e in last]
        half = self.count // 2
        scores = [entry["score"] for entry in last]
        is_stalled = min(scores[half:]) > 0.5 * min(scores[:half])
        if min(shares) <= (self.share_if_stalled if is_stalled else self.share):
            return None
        return (
            "Rounding errors limit the accuracy: rounding the parameters changes the "
            f"residual of {last[-1]['residual_l2']:.1e} by "
            f"{last[-1]['rounding_l2']:.1e}, and optimizers lose more digits than that."
        )


class SmallPool(AbstractAlarm):
    """The residual on fresh points is `ratio` times that on the pool.

    This holds in `count` measurements in a row: the network overfits its pool.
    """

    advice: ClassVar[str] = (
        "Raise the size of the pool (`--pool`) and the number of points (`--points`), "
        "or use a smaller network (`--width`)."
    )

    ratio: float = 2.0
    count: int = 3

    @override
    def check(self, record: Record) -> str | None:
        last = last_entries(record, self.count, "pool_l2", "residual_l2")
        if last is None:
            return None
        ratios = [e["residual_l2"] / max(e["pool_l2"], 1e-300) for e in last]
        if min(ratios) <= self.ratio:
            return None
        return (
            "The pool is too small: the residual on fresh points is "
            f"{ratios[-1]:.1f} times that on the pool."
        )
