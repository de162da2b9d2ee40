"""Progress of a run: its plan, and callbacks that report it."""

import abc
import io
import sys
from typing import Any

import equinox as eqx
from typing_extensions import override

from ..core import format_duration

POLISH_STEP = "polish_step"  # in an entry of the log: number of the linear stage's step


class Plan(eqx.Module):
    """What a run is about to do, and what it will cost."""

    name: str
    num_params: int
    samples: str  # what a step uses, in words
    dtype: str
    optimizer: str
    first_step: int
    max_steps: int
    disk_bytes: int
    seconds_per_step: float | None = None  # if a step has been timed
    seconds: float = 0.0
    folder: str | None = None
    note: str = ""  # a further sentence

    def text(self) -> str:
        """The plan in one or two sentences."""
        where = f" {self.note}" if self.note else ""
        if self.folder is not None:
            where += f" About {self.disk_bytes / 1e6:.0f} MB in {self.folder}."
        cost = ""
        if self.seconds_per_step is not None:
            cost = f" About {self.seconds_per_step:.2g} s a step, "
            cost += f"{format_duration(self.seconds)} in all."
        return (
            f"{self.name}: {self.num_params} parameters in {self.dtype}, {self.samples}"
            f", {self.optimizer}.{cost}{where}"
        )


class AbstractCallback(abc.ABC):
    """Called when a run starts, at every check, and when it ends."""

    @abc.abstractmethod
    def on_start(self, plan: Plan) -> None:
        """Called before the first step."""

    @abc.abstractmethod
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """Called after each check, with the new entry of the log."""

    @abc.abstractmethod
    def on_end(self, sentence: str) -> None:
        """Called after the last step, with the result in one sentence."""


class PrintLines(AbstractCallback):
    """Print one line for each check, to standard error unless a stream is given.

    `prints_result=False` leaves the final sentence to the caller.
    """

    def __init__(
        self, stream: io.TextIOBase | None = None, *, prints_result: bool = True
    ):
        self._stream, self._prints_result = stream, prints_result

    @override
    def on_start(self, plan: Plan) -> None:
        self._write(plan.text())

    @override
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        times = f"{format_duration(entry['seconds'])}, "
        times += f"{format_duration(seconds_left)} left"
        if "loss" not in entry:  # a stage that is told in words
            self._write(f"{entry['message']}  {times}")
            return
        error = entry.get("error")
        known = "" if error is None else f"  error {error:.2e}"
        residual = ""
        if "residual_l2" in entry:
            residual = f"  residual {entry['residual_l2']:.2e} "
            residual += f"(max {entry['residual_max']:.1e})"
        place = f"step {entry['step']:6d}"
        if POLISH_STEP in entry:
            place = f"linear {entry[POLISH_STEP]:4d}"
            known = f"  estimated {entry['estimated_error']:.1e}{known}"
        self._write(f"{place}  loss {entry['loss']:.2e}{residual}{known}  {times}")
        if "message" in entry:
            self._write(entry["message"])
        for warning in entry.get("warnings", []):
            self._write(f"Warning: {warning}")

    @override
    def on_end(self, sentence: str) -> None:
        if self._prints_result:
            self._write(sentence)

    def _write(self, text: str) -> None:
        (self._stream or sys.stderr).write(text + "\n")


class Silent(AbstractCallback):
    """Print nothing."""

    @override
    def on_start(self, plan: Plan) -> None:
        pass

    @override
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        pass

    @override
    def on_end(self, sentence: str) -> None:
        pass


class CallbackList(AbstractCallback):
    """Call several callbacks in order."""

    def __init__(self, *callbacks: AbstractCallback):
        self._callbacks = callbacks

    @override
    def on_start(self, plan: Plan) -> None:
        for callback in self._callbacks:
            callback.on_start(plan)

    @override
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        for callback in self._callbacks:
            callback.on_check(entry, seconds_left)

    @override
    def on_end(self, sentence: str) -> None:
        for callback in self._callbacks:
            callback.on_end(sentence)
