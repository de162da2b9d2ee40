"""What commands print and write: results, pages, and how to resume a run."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..compare import as_json as as_json
from ..runs import (
    AbstractCallback,
    CallbackList,
    PrintLines,
    RunFolder,
    StopReason,
)
from ._base import DONE, FAILED, INTERRUPTED


def exit_code(stop_reasons: Sequence[str]) -> int:
    """The exit code of runs that ended for these reasons."""
    if StopReason.interrupted in stop_reasons:
        return INTERRUPTED
    return FAILED if StopReason.not_finite in stop_reasons else DONE


def print_result(text: str) -> None:
    """Print to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_how_to_resume(result: dict[str, Any], words: Sequence[str]) -> None:
    """Print the command that resumes a run, if it was interrupted or out of time."""
    stop_reason, minutes = result["stop_reason"], result["manifest"]["minutes"]
    if stop_reason == StopReason.interrupted:
        text = f"Interrupted; all progress is saved. Resume with: {shlex.join(words)}"
    elif stop_reason == StopReason.time and minutes is not None:
        limit = 2 * max(minutes, result["seconds"] / 60)  # it counts all time
        more = [*words, "--minutes", f"{limit:.3g}"]
        text = f"Time limit reached. Resume with: {shlex.join(more)}"
    else:
        return
    sys.stderr.write(text + "\n")


def reproducible_command(words: tuple[str, ...]) -> str | None:
    """Return the command line without output options."""
    kept, rest = [], iter(words)
    for word in rest:
        if word == "--out":
            next(rest, None)
        elif word not in ("--json", "--debug") and not word.startswith("--out="):
            kept.append(word)
    return shlex.join(["vrba", *kept]) if kept else None


@contextmanager
def progress(
    run: Path, resume_words: Sequence[str], *, has_tensorboard: bool
) -> Iterator[AbstractCallback]:
    """A callback that shows a panel in a terminal, or prints lines elsewhere."""
    from ..report import Panel, TensorBoard  # imports matplotlib

    panel = Panel() if sys.stderr.isatty() else None
    callback = panel or PrintLines(prints_result=False)
    try:
        if has_tensorboard:
            callback = CallbackList(callback, TensorBoard(run / "tensorboard"))
        yield callback
    except KeyboardInterrupt:  # before the first step, or at the second Ctrl-C
        if RunFolder(run).checkpoint("latest").exists():
            sys.stderr.write(f"Resume with: {shlex.join(resume_words)}\n")
        raise
    finally:
        if panel is not None:
            panel.close()


def write_page(run: Path, *, raises: bool) -> None:
    """Write the report of a run; print a warning if a figure fails."""
    from ..compare import write_report  # imports matplotlib

    try:
        write_report(run)
    except Exception as error:
        if raises:
            raise
        sys.stderr.write(
            f"The report of {run} failed ({type(error).__name__}: {error}); all other "
            f"files are complete. Try `vrba report {run} --debug`.\n"
        )


@contextmanager
def output_folder(given: Path | None, wanted: Path) -> Iterator[Path]:
    """The given folder, or a free one, which is removed if it stays empty."""
    if given is not None:
        yield given
        return
    path = free_folder(wanted)
    try:
        yield path
    finally:
        with suppress(OSError):  # it is not empty
            path.rmdir()


def free_folder(wanted: Path) -> Path:
    """Create the folder, with the first free number appended if it exists.

    Creating it at once reserves it against other processes.
    """
    path, number = wanted, 1
    wanted.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            path.mkdir()
            return path
        except FileExistsError:
            number += 1
            path = wanted.with_name(f"{wanted.name}-{number}")
