"""Read a run folder, also while the run goes on."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..core import (
    BrokenFileError,
    is_locked,
    read_arrays,
)
from .checkpoint import load_header
from .folder import TRAIN, Entry, RunFolder
from .outcome import StopReason, operator_sentence, solution_sentence


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """A run: `manifest` (settings), `record` (log), `result`, `fields` (arrays for
    figures), `drawn` (points drawn at some steps) and `complaint` (damaged files).

    Missing parts are empty, `fields` is then None. `result` has a stop reason only
    after the run ended.
    """

    path: Path
    manifest: dict[str, Any]
    record: list[Entry] = dataclasses.field(default_factory=list)
    fields: dict[str, np.ndarray] | None = None
    result: dict[str, Any] = dataclasses.field(default_factory=dict)
    drawn: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)
    complaint: str | None = None

    @staticmethod
    def read(path: str | os.PathLike[str], *, has_arrays: bool = True) -> "RunRecord":
        """Read a run folder without running its code; `has_arrays=False` leaves out
        the arrays for figures."""
        folder = RunFolder(path)
        manifest = folder.read_manifest()
        best, fields, complaint = folder.checkpoint("best"), None, None
        try:
            if has_arrays and folder.fields_file.exists():
                fields = read_arrays(folder.fields_file)
        except BrokenFileError as error:
            complaint = f"{error} The figures made from it are left out."
        return RunRecord(
            folder.path,
            manifest,
            folder.record(),
            fields,
            load_header(best) if best.exists() else {},
            _read_drawn(folder) if has_arrays else {},
            complaint,
        )

    @property
    def name(self) -> str:
        """The name of the problem, or of the data of an operator."""
        if self.is_operator:
            name = str(_part(self.manifest, "data").get("name") or "operator")
            return name[:1].upper() + name[1:]
        return str(_part(self.manifest, "problem").get("name", self.path.name))

    @property
    def is_operator(self) -> bool:
        """Whether the run trains an operator; otherwise it solves a problem."""
        return self.manifest["kind"] == TRAIN

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe."""
        return _part(self.manifest, "recipe")

    @property
    def error_name(self) -> str:
        """What the logged error measures."""
        return "validation error" if self.is_operator else "relative L2 error"

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run ended; `None` while it goes on."""
        return StopReason(self.result["stop_reason"]) if self.has_ended else None

    @property
    def has_ended(self) -> bool:
        """Whether the run is over; a resumed run is locked, or has logged more."""
        done = self.result.get("step", 0)
        is_over = "stop_reason" in self.result and self._last("step") <= done
        return is_over and not is_locked(self.path)

    @property
    def step(self) -> int:
        """The number of steps known so far."""
        return int(max(self.result.get("step", 0), self._last("step")))

    @property
    def seconds(self) -> float:
        """The training time so far."""
        return float(max(self.result.get("seconds", 0.0), self._last("seconds")))

    @property
    def diagnose_seconds(self) -> float | None:
        """The time spent on diagnostics, if it was logged."""
        known = [entry.get("diagnose_seconds") for entry in self.record]
        return next((value for value in reversed(known) if value is not None), None)

    def sentence(self) -> str:
        """The result, or the progress so far, in one sentence."""
        say = operator_sentence if self.is_operator else solution_sentence
        found = "errors" if self.is_operator else "residual_l2"
        if self.has_ended and found in self.result:
            return say(self.name, self.result)
        text = f"{self.name}: the run has not ended; "
        if not self.record:
            return text + "nothing was logged yet."
        text += f"after {self.step} steps and {self.seconds:.0f} s"
        entry = self.record[-1]
        for key, name in (("residual_l2", "residual"), ("error", self.error_name)):
            if entry.get(key) is not None:
                text += f" the {name} is {entry[key]:.2e},"
        return text.rstrip(",") + "."

    def command(self) -> str | None:
        """The command line of the run; `None` if a Python program made it."""
        return self.manifest.get("command")

    def arrays(self, *names: str) -> dict[str, np.ndarray]:
        """Some of the arrays for figures; missing or damaged ones are left out."""
        path, known = RunFolder(self.path).fields_file, self.fields
        if known is None:
            try:
                return read_arrays(path, names) if path.exists() else {}
            except BrokenFileError:
                return {}
        return {name: known[name] for name in names if name in known}

    def _last(self, key: str) -> Any:
        """The last logged value, or zero."""
        return (self.record[-1].get(key) if self.record else None) or 0


def _part(values: dict[str, Any], key: str) -> dict[str, Any]:
    """The settings under a key; empty if there are none."""
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _read_drawn(folder: RunFolder) -> dict[int, np.ndarray]:
    """Drawn points by step; a file that is being written is left out."""
    found = {}
    for step, path in folder.drawn_files().items():
        try:
            found[step] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            continue
    return found
