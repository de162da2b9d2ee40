"""A live panel for a terminal."""

import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.progress_bar import ProgressBar
from rich.table import Table

from ..core import AbstractCallback, Plan, format_duration


class Panel(AbstractCallback):
    """Step, loss, residual, error and time left, in place, on standard error unless a
    console is given. `close` gives the terminal back, whatever happened."""

    def __init__(self, console: Console | None = None):
        self._console = Console(stderr=True) if console is None else console
        self._plan: Plan | None = None
        self._entry: dict[str, Any] = {}
        self._seconds, self._left, self._since = 0.0, 0.0, time.monotonic()
        self._live = Live(
            console=self._console, get_renderable=self._frame, refresh_per_second=2
        )

    def begin(self, plan: Plan) -> None:
        """Says what is about to be done, and opens the panel."""
        self._console.print(plan.text(), highlight=False, markup=False)
        self._plan, self._left, self._since = plan, plan.seconds, time.monotonic()
        self._live.start(refresh=True)

    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """Shows where the run stands."""
        self._entry, self._seconds = entry, entry["seconds"]
        self._left, self._since = seconds_left, time.monotonic()
        for warning in entry.get("warnings", []):
            self._console.print(f"Warning: {warning}", highlight=False, markup=False)
        self._live.refresh()

    def end(self, sentence: str) -> None:
        """Closes the panel; the sentence is for whoever asked for the run."""
        self.close()

    def close(self) -> None:
        """Stops to draw."""
        self._live.stop()

    def _frame(self) -> Frame:
        if self._plan is None:
            return Frame("")
        passed = time.monotonic() - self._since
        seconds, left = self._seconds + passed, max(self._left - passed, 0.0)
        table = Table.grid(padding=(0, 2))
        for name, text in _rows(self._entry, self._plan):
            table.add_row(name, text)
        table.add_row(
            "time", f"{format_duration(seconds)}, {format_duration(left)} left"
        )
        done = seconds / max(seconds + left, 1e-9)
        bar = ProgressBar(total=1.0, completed=done)
        return Frame(Group(table, bar), title=self._plan.name, width=64)


def _rows(entry: dict[str, Any], plan: Plan) -> list[tuple[str, str]]:
    """What is known so far, by name."""
    step = entry.get("step", plan.first_step)
    rows = [("step", f"{step:,} of {plan.max_steps:,}")]
    if not entry:
        return rows
    rows.append(("loss", f"{entry['loss']:.2e}"))
    if "residual_l2" in entry:
        residual = f"{entry['residual_l2']:.2e}, largest {entry['residual_max']:.1e}"
        rows.append(("residual", residual))
    if entry.get("error") is not None:
        rows.append(("error", f"{entry['error']:.2e} (relative L2)"))
    return rows
