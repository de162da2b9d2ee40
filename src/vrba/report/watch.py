"""A run that goes on elsewhere, in the terminal."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text
from uniplot import plot_to_string

from ..core import BrokenFileError, format_duration
from ..diagnose import find_warnings
from .figures._base import has_any, values_of
from .run import RunRecord

_MEASURES = {
    "residual_l2": "residual on held-out points (root mean square)",
    "error": "relative L2 error",
    "loss": "loss",
    "snr": "gradient signal-to-noise",
}
_HEIGHT = 7  # lines of a plot
_MARGIN = 14  # columns for the numbers beside it
_WIDEST = 100


def watch(
    path: str | os.PathLike[str],
    *,
    once: bool = False,
    every: float | int = 1.0,
    console: Console | None = None,
    sleep: Callable[[float], Any] = time.sleep,
) -> RunRecord:
    """Shows where a run stands, again `every` second until it has ended; once if asked
    so, or if nobody sees a picture that changes. Returns what was read last."""
    console = Console() if console is None else console
    run = _read(Path(path), None)
    if once or not console.is_terminal:
        console.print(picture(run, console.width))
        return run
    draw = lambda: picture(run, console.width)
    with Live(console=console, get_renderable=draw, auto_refresh=False) as live:
        while True:
            live.refresh()
            if run.has_ended:
                return run
            sleep(every)
            run = _read(Path(path), run)


def picture(run: RunRecord, width: int = 80) -> Group:
    """Where the run stands and what looks wrong, and below a small plot on a
    logarithmic scale for each measure that was logged: a low terminal cuts off the last
    ones."""
    columns = max(min(width, _WIDEST) - _MARGIN, 10)
    parts = [Text(line) for line in _standing(run)]
    titles = _MEASURES | {"error": run.error_name}
    for measure, title in titles.items():
        if not has_any(run.record, measure):
            continue
        steps, values = values_of(run.record, measure)
        parts.append(Text(f"{title}: {values[-1]:.2e}", style="bold"))
        parts.append(Text(_plot(steps, values, columns)))
    return Group(*parts)


def _plot(steps: Any, values: Any, columns: int) -> str:
    many = len(steps) > 1
    return str(
        plot_to_string(
            xs=steps,
            ys=values,
            y_as_log=True,
            lines=many,
            color=False,
            width=columns,
            height=_HEIGHT,
        )
    )


def _standing(run: RunRecord) -> list[str]:
    """Step, time and warnings, in words."""
    lines = [f"{run.name}: step {run.step:,}, {format_duration(run.seconds)}"]
    if not run.record:
        lines = [f"{run.name}: nothing was logged yet."]
    for one in find_warnings(run.record):
        lines.append(f"Warning (step {one.step}): {one.text} {one.advice}")
    if run.has_ended:
        lines.append(f"Ended. {run.result['status']}")
    return lines


def _read(path: Path, before: RunRecord | None) -> RunRecord:
    """The run as it stands; as it stood if its files are being replaced."""
    try:
        return RunRecord.read(path, has_arrays=False)
    except (BrokenFileError, OSError):
        if before is None:
            raise
        return before
