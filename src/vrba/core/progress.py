"""What is told of a run: its plan, and the interface of whoever tells it."""

import abc
from typing import Any

import equinox as eqx


class Plan(eqx.Module):
    """What a run is about to do, and what it will take."""

    name: str
    num_params: int
    samples: str  # what a step sees, in words
    dtype: str
    optimizer: str
    first_step: int
    max_steps: int
    seconds_per_step: float
    seconds: float
    disk_bytes: int
    folder: str | None

    def text(self) -> str:
        """In one or two sentences."""
        where = ""
        if self.folder is not None:
            where = f" About {self.disk_bytes / 1e6:.0f} MB in {self.folder}."
        return (
            f"{self.name}: {self.num_params} parameters in {self.dtype}, {self.samples}"
            f", {self.optimizer}. About {self.seconds_per_step:.2g} s a step, "
            f"{format_duration(self.seconds)} in all.{where}"
        )


class AbstractCallback(abc.ABC):
    """Called when a run begins, at every check, and when it ends."""

    @abc.abstractmethod
    def begin(self, plan: Plan) -> None:
        """Before the first step."""

    @abc.abstractmethod
    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """After each check, with what was logged."""

    @abc.abstractmethod
    def end(self, sentence: str) -> None:
        """After the last step, with the result in one sentence."""


def format_duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
