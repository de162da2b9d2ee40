"""Plain lines, for logs and notebooks."""

import io
import sys
from typing import Any

from ...core import AbstractCallback, Plan, format_duration


class Lines(AbstractCallback):
    """One line for each check, on standard error unless a stream is given; the result
    too, unless the caller tells it."""

    def __init__(
        self, stream: io.TextIOBase | None = None, *, tells_result: bool = True
    ):
        self._stream, self._tells_result = stream, tells_result

    def begin(self, plan: Plan) -> None:
        """What is about to be done."""
        self._write(plan.text())

    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """Where the run stands."""
        error = entry.get("error")
        known = "" if error is None else f"  error {error:.2e}"
        residual = ""
        if "residual_l2" in entry:
            residual = f"  residual {entry['residual_l2']:.2e} "
            residual += f"(max {entry['residual_max']:.1e})"
        self._write(
            f"step {entry['step']:6d}  loss {entry['loss']:.2e}{residual}{known}  "
            f"{format_duration(entry['seconds'])}, {format_duration(seconds_left)} left"
        )
        for warning in entry.get("warnings", []):
            self._write(f"Warning: {warning}")

    def end(self, sentence: str) -> None:
        """The result."""
        if self._tells_result:
            self._write(sentence)

    def _write(self, text: str) -> None:
        (self._stream or sys.stderr).write(text + "\n")
