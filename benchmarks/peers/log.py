"""What a script is asked for, its clock, and its log; without vrba and without JAX.

The clock stands while the error is measured. The log has a line that tells what runs,
one for each measurement, and one at the end, without which a run has not finished.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_GROWTH = 1.05  # measurements are closer at the beginning
_MOST = 250  # measurements, about


def read_arguments() -> argparse.Namespace:
    """The arguments of a script, `asked`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arm", required=True)
    parser.add_argument("--problem", required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    for name in ("seed", "threads", "width", "depth", "points", "pool"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args()


class Log:
    """Time that counts, and the error against the reference as it passes."""

    def __init__(self, asked: argparse.Namespace):
        with np.load(asked.reference) as stored:
            self.points, self.values = stored["points"], stored["values"]
        self.path, self.entries = asked.log, []
        self.path.write_text("", encoding="utf-8")
        self.limit = 60.0 * asked.minutes
        self.start, self.away, self.due, self.step = time.perf_counter(), 0.0, 0.0, 0
        self.cpu = time.process_time()

    def about(self, **told: Any) -> None:
        """What runs: read from the running program."""
        self.write({"about": told})

    def clock(self) -> float:
        """Seconds since the start, without those of measurements."""
        return time.perf_counter() - self.start - self.away

    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.limit

    def look(self, step: int, loss: Any, predict: Callable[..., Any]) -> bool:
        """Measures if it is time to; returns whether the time is up."""
        now, self.step = self.clock(), step
        if now >= self.due or now >= self.limit:
            self.measure(step, loss, predict)
            self.due = max(_GROWTH * now, now + self.limit / _MOST)
        return now >= self.limit

    def measure(self, step: int, loss: Any, predict: Callable[..., Any]) -> None:
        """A line, with the error of `predict`, from points to values."""
        now, begun = self.clock(), time.perf_counter()
        found = np.ravel(np.asarray(predict(self.points), float))
        error = np.linalg.norm(found - self.values) / np.linalg.norm(self.values)
        loss = loss() if callable(loss) else loss
        entry = {"seconds": round(now, 3), "step": int(step), "error": float(error)}
        self.write(entry | {"loss": None if loss is None else float(loss)})
        self.away += time.perf_counter() - begun

    def end(self, loss_at: Callable[[int], float] | None = None, **told: Any) -> None:
        """Says that all went well; fills in losses that are known only now."""
        if loss_at is not None:
            for entry in self.entries[1:]:
                entry["loss"] = float(loss_at(entry["step"]))
        seconds, away = round(self.clock(), 3), round(self.away, 3)
        last = {"finished": True, "seconds": seconds, "measuring_seconds": away}
        last["cpu_seconds"] = round(time.process_time() - self.cpu, 3)
        lines = [json.dumps(entry) for entry in (*self.entries, last | told)]
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write(self, entry: dict[str, Any]) -> None:
        """A line."""
        self.entries.append(entry)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
