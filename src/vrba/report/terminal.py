"""Live output in a terminal: a run, several runs, and a progress bar."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.progress import Progress, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from typing_extensions import override

from ..core import format_duration
from ..runs import POLISH_STEP, AbstractCallback, Plan

_REFRESHES = 2  # per second
_PANEL_WIDTH = 64

Row = tuple[str, ...]


class Panel(AbstractCallback):
    """A callback that shows step, loss, residual, error and time left in place.

    Writes to standard error unless a console is given.
    """

    def __init__(self, console: Console | None = None):
        self._console = Console(stderr=True) if console is None else console
        self._plan: Plan | None = None
        self._entry: dict[str, Any] = {}
        self._seconds, self._left, self._since = 0.0, 0.0, time.monotonic()
        self._live = Live(
            console=self._console,
            get_renderable=self._frame,
            refresh_per_second=_REFRESHES,
        )

    @override
    def on_start(self, plan: Plan) -> None:
        self._console.print(plan.text(), highlight=False, markup=False)
        self._plan, self._left, self._since = plan, plan.seconds, time.monotonic()
        self._live.start(refresh=True)

    @override
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        self._entry, self._seconds = entry, entry["seconds"]
        self._left, self._since = seconds_left, time.monotonic()
        if "message" in entry:
            self._console.print(entry["message"], highlight=False, markup=False)
        for warning in entry.get("warnings", []):
            self._console.print(f"Warning: {warning}", highlight=False, markup=False)
        self._live.refresh()

    @override
    def on_end(self, sentence: str) -> None:
        self.close()  # the caller prints the result

    def close(self) -> None:
        """Stop the live display; needed if the run fails before `on_end`."""
        self._live.stop()

    def _frame(self) -> Frame:
        if self._plan is None:
            return Frame("")
        passed = time.monotonic() - self._since
        seconds, left = self._seconds + passed, max(self._left - passed, 0.0)
        rows = _progress_rows(self._entry, self._plan)
        times = f"{format_duration(seconds)}, {format_duration(left)} left"
        table = _table([*rows, ("time", times)])
        share = seconds / max(seconds + left, 1e-9)
        bar = ProgressBar(total=1.0, completed=share)
        return Frame(Group(table, bar), title=self._plan.name, width=_PANEL_WIDTH)


def _progress_rows(entry: dict[str, Any], plan: Plan) -> list[Row]:
    """Names and values of the last log entry."""
    step = entry.get("step", plan.first_step)
    rows = [("step", f"{step:,} of {plan.max_steps:,}")]
    if not entry:
        return rows
    if "estimated_error" in entry:
        estimate = (
            f"step {entry[POLISH_STEP]}, {entry['estimated_error']:.1e} estimated"
        )
        rows.append(("linear stage", estimate))
    if "loss" in entry:
        rows.append(("loss", f"{entry['loss']:.2e}"))
    if "residual_l2" in entry:
        residual = f"{entry['residual_l2']:.2e}, largest {entry['residual_max']:.1e}"
        rows.append(("residual", residual))
    if entry.get("error") is not None:
        rows.append(("error", f"{entry['error']:.2e} (relative L2)"))
    return rows


class Board:
    """Permanent lines, and below them on a terminal a table that is updated in place.

    Writes to standard error unless a console is given.
    """

    def __init__(self, console: Console | None = None):
        self._console = Console(stderr=True) if console is None else console
        self._rows: Sequence[Row] = ()
        self._live = Live(
            console=self._console,
            get_renderable=lambda: _table(self._rows),
            refresh_per_second=_REFRESHES,
            transient=True,
        )
        if self.is_live:
            self._live.start()

    @property
    def is_live(self) -> bool:
        """Whether the output is a terminal, so that the table is shown."""
        return self._console.is_terminal

    def print(self, line: str) -> None:
        """Print a permanent line."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def show(self, rows: Sequence[Row]) -> None:
        """Replace the rows of the table."""
        self._rows = rows

    def close(self) -> None:
        """Stop the live display."""
        self._live.stop()


def _table(rows: Sequence[Row]) -> Table:
    table = Table.grid(padding=(0, 2))
    for row in rows:
        table.add_row(*row)
    return table


class Bar:
    """A context manager with a progress bar on standard error.

    Without a terminal it only prints `title`.
    """

    def __init__(self, title: str):
        console = Console(stderr=True)
        if not console.is_terminal:
            console.print(f"{title} ...")
        self._progress = Progress(
            *Progress.get_default_columns()[:2],
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(title, total=None)

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` items are finished."""
        self._progress.update(self._task, completed=done, total=total)
