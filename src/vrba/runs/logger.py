"""The log of a run: entries, warnings, drawn points, and the callback."""

import abc
import math
from typing import Any

import numpy as np

from ..diagnose import find_current_warnings, find_warnings
from .callbacks import AbstractCallback, Plan
from .folder import Entry, RunFolder, entries_until


class AbstractMeasurements(abc.ABC):
    """What a run measures at every check."""

    @abc.abstractmethod
    def start(self, planned_seconds: float, record: list[Entry]) -> None:
        """Called before the first step, with the time planned for the whole run."""

    @abc.abstractmethod
    def entry(self, state: Any, check: Any, loss: float, seconds: float) -> Entry:
        """An entry of the log."""

    @abc.abstractmethod
    def drawn_points(self, state: Any) -> np.ndarray | None:
        """The points drawn last, if they are to be stored."""


class Logger:
    """Keeps `record`, the entries of the log, in memory and in the folder."""

    def __init__(
        self,
        measurements: AbstractMeasurements,
        callback: AbstractCallback,
        folder: RunFolder | None,
    ):
        self.measurements, self.callback, self.folder = measurements, callback, folder
        self.record: list[Entry] = []
        self._warned: set[str] = set()
        self._is_announced = False

    def rewind(self, num_steps: int, num_polish_steps: float | int = math.inf) -> None:
        """Go back to the log as it was after a step, and after steps of the linear
        stage."""
        if self.folder is None:
            kept = entries_until(self.record, num_steps, num_polish_steps)
        else:
            kept = self.folder.rewind(num_steps, num_polish_steps)
        self.record[:] = kept
        self._warned.update(warning.name for warning in find_warnings(self.record))

    def start(self, plan: Plan, planned_seconds: float) -> None:
        """Report the plan, once, and start the measurements of training."""
        self.measurements.start(planned_seconds, self.record)
        self.announce(plan)

    def announce(self, plan: Plan) -> None:
        """Report the plan, unless one was reported."""
        if not self._is_announced:
            self.callback.on_start(plan)
        self._is_announced = True

    def log(
        self, state: Any, check: Any, loss: float, seconds: float, message: str = ""
    ) -> Entry:
        """Measure, warn and store; return the entry, with a message if there is one."""
        entry = self.measurements.entry(state, check, loss, seconds)
        if message:
            entry["message"] = message
        self.record.append(entry)
        self._add_warnings(entry)
        if self.folder is not None:
            self.folder.log(entry)
            self._save_drawn(self.folder, state)
        return entry

    def add(self, entry: Entry) -> None:
        """Store an entry that was measured elsewhere."""
        self.record.append(entry)
        if self.folder is not None:
            self.folder.log(entry)

    def report(self, entry: Entry, seconds_left: float) -> None:
        """Pass an entry to the callback."""
        self.callback.on_check(entry, seconds_left)

    def _add_warnings(self, entry: Entry) -> None:
        """Add each warning once, to the entry where it first holds."""
        new = [
            w for w in find_current_warnings(self.record) if w.name not in self._warned
        ]
        self._warned.update(warning.name for warning in new)
        if new:
            entry["warnings"] = [f"{w.text} {w.advice}" for w in new]

    def _save_drawn(self, folder: RunFolder, state: Any) -> None:
        step = int(state.num_steps)
        if folder.wants_drawn(step):
            points = self.measurements.drawn_points(state)
            if points is not None:
                folder.save_drawn(step, points)
