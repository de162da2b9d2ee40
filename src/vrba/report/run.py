"""A run as its folder tells it, also while it goes on."""

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..core import (
    BrokenFileError,
    is_locked,
    load_header,
    operator_sentence,
    read_arrays,
    read_json,
    read_lines,
    result_sentence,
)

Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """What was asked for (`about`), logged (`record`), found (`result`), its arrays for
    figures (`fields`), the points drawn at some steps (`drawn`), and what is wrong with
    its files (`complaint`).

    What is not there yet is empty, `fields` is None; `result` has a status only once
    the run has ended.
    """

    path: Path
    about: dict[str, Any]
    record: list[Entry] = dataclasses.field(default_factory=list)
    fields: dict[str, np.ndarray] | None = None
    result: dict[str, Any] = dataclasses.field(default_factory=dict)
    drawn: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)
    complaint: str | None = None

    @staticmethod
    def read(path: str | os.PathLike[str], *, has_arrays: bool = True) -> "RunRecord":
        """Reads a run folder, without the arrays for figures if told so; none of its
        code is run."""
        path = Path(path)
        about = read_json(path / "recipe.json", f"`{path}` is no run folder")
        best, arrays = path / "checkpoint" / "best.npz", path / "fields.npz"
        fields, complaint = None, None
        try:
            fields = read_arrays(arrays) if has_arrays and arrays.exists() else None
        except BrokenFileError as error:
            complaint = f"{error} What is drawn from it is left out."
        return RunRecord(
            path,
            about,
            read_lines(path / "metrics.jsonl"),
            fields,
            load_header(best) if best.exists() else {},
            _drawn(path / "drawn") if has_arrays else {},
            complaint,
        )

    @property
    def name(self) -> str:
        """That of the problem, or of the data of an operator."""
        if self.is_operator:
            name = str(_part(self.about, "data").get("name") or "operator")
            return name[:1].upper() + name[1:]
        return str(_part(self.about, "problem").get("name", self.path.name))

    @property
    def is_operator(self) -> bool:
        """Whether it trains an operator, and does not solve a problem."""
        return "operator" in self.about

    @property
    def settings(self) -> dict[str, Any]:
        """Those of training."""
        return _part(self.about, "operator" if self.is_operator else "recipe")

    @property
    def error_name(self) -> str:
        """What the logged error is."""
        return "validation error" if self.is_operator else "relative L2 error"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come.

        A run that was resumed is at work, or has logged more than it had come to.
        """
        done = self.result.get("step", 0)
        is_over = "status" in self.result and self._last("step") <= done
        return is_over and not is_locked(self.path)

    @property
    def step(self) -> int:
        """How far it is known to have come."""
        return int(max(self.result.get("step", 0), self._last("step")))

    @property
    def seconds(self) -> float:
        """The time spent on it so far."""
        return float(max(self.result.get("seconds", 0.0), self._last("seconds")))

    @property
    def diagnose_seconds(self) -> float | None:
        """The part of it that was spent on diagnostics, if that was logged."""
        known = [entry.get("diagnose_seconds") for entry in self.record]
        return next((value for value in reversed(known) if value is not None), None)

    def sentence(self) -> str:
        """The result, or where the run stands."""
        say = operator_sentence if self.is_operator else result_sentence
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
        """What was typed to make it; none if it was made by a program."""
        return self.about.get("command")

    def arrays(self, *names: str) -> dict[str, np.ndarray]:
        """Some of its arrays for figures, from its folder unless they were read; what
        is not there or damaged is left out."""
        path, known = self.path / "fields.npz", self.fields
        if known is None:
            try:
                return read_arrays(path, names) if path.exists() else {}
            except BrokenFileError:
                return {}
        return {name: known[name] for name in names if name in known}

    def _last(self, key: str) -> Any:
        """What was logged last, or zero."""
        return (self.record[-1].get(key) if self.record else None) or 0


def _part(values: dict[str, Any], key: str) -> dict[str, Any]:
    """The settings under a key, if there are any."""
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _drawn(folder: Path) -> dict[int, np.ndarray]:
    """Points by step, in the order of steps; what is being written is left out."""
    found = {}
    for path in folder.glob("*.npy"):
        if re.fullmatch(r"\d+", path.stem):
            try:
                found[int(path.stem)] = np.load(path, allow_pickle=False)
            except (OSError, ValueError, EOFError):
                continue
    return dict(sorted(found.items()))
