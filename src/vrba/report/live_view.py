"""Curves of a running training in the terminal, read from its folder."""

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
from ..runs import RunRecord, stop_advice
from .figures import has_any, values_of

_MEASURES = {
    "residual_l2": "residual on held-out points (root mean square)",
    "error": "relative L2 error",
    "loss": "loss",
    "snr": "gradient signal-to-noise",
}
_PLOT_LINES = 7
_MARGIN = 14  # columns of the numbers beside a plot
_MAX_WIDTH = 100


def watch(
    path: str | os.PathLike[str],
    *,
    once: bool = False,
    every: float | int = 1.0,
    console: Console | None = None,
    sleep: Callable[[float], Any] = time.sleep,
) -> RunRecord:
    """Show the state of a run, updated every `every` seconds until the run has ended.

    Prints the state only once if `once` is set or the output is no terminal. Returns
    the last state.
    """
    console = Console() if console is None else console
    run = _read(Path(path), None)
    if once or not console.is_terminal:
        console.print(_view(run, console.width))
        return run
    view = lambda: _view(run, console.width)
    with Live(console=console, get_renderable=view, auto_refresh=False) as live:
        while True:
            live.refresh()
            if run.has_ended:
                return run
            sleep(every)
            run = _read(Path(path), run)


def _view(run: RunRecord, width: int) -> Group:
    """State, warnings, and a plot of each logged measure.

    A terminal with few lines cuts off the last plots, so the most useful are first.
    """
    columns = max(min(width, _MAX_WIDTH) - _MARGIN, 10)
    parts = [Text(line) for line in _state_lines(run)]
    titles = _MEASURES | {"error": run.error_name}
    for measure, title in titles.items():
        if not has_any(run.record, measure):
            continue
        steps, values = values_of(run.record, measure)
        parts.append(Text(f"{title}: {values[-1]:.2e}", style="bold"))
        parts.append(Text(_plot(steps, values, columns)))
    return Group(*parts)


def _plot(steps: Any, values: Any, columns: int) -> str:
    options: dict[str, Any] = {"width": columns, "height": _PLOT_LINES}
    options |= {"y_as_log": True, "lines": len(steps) > 1, "color": False}
    return str(plot_to_string(xs=steps, ys=values, **options))


def _state_lines(run: RunRecord) -> list[str]:
    """Step, time, warnings and final status."""
    lines = [f"{run.name}: step {run.step:,}, {format_duration(run.seconds)}"]
    if not run.record:
        lines = [f"{run.name}: no log entries yet."]
    for one in find_warnings(run.record):
        lines.append(f"Warning (step {one.step}): {one.text} {one.advice}")
    if run.has_ended:
        lines.append(f"Ended. {stop_advice(run.result)}")
    return lines


def _read(path: Path, previous: RunRecord | None) -> RunRecord:
    """The current state; the previous one while a file is being replaced."""
    try:
        return RunRecord.read(path, has_arrays=False)
    except (BrokenFileError, OSError):
        if previous is None:
            raise
        return previous
