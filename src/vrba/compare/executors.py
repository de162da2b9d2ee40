"""Make the runs of a comparison: as processes, or one after another in this process."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
from typing_extensions import override

from ..core import BrokenFileError, format_duration, read_last_line
from ..report import Board
from ..runs import RunFolder, StopReason, load_header, watch_signals
from ._base import (
    AbstractCase,
    AbstractExecutor,
    OnEnd,
    OnWait,
    RunTask,
    Settings,
    run_name,
)
from .budget import environment
from .folder import ComparisonFolder
from .names import pick_some
from .tables import has_failed

_POLL_EVERY = 0.2  # seconds


class Command(NamedTuple):
    """Arguments of a `vrba` process, and the file for its output."""

    name: str
    words: tuple[str, ...]
    log: Path


class Processes(AbstractExecutor):
    """Each run is a process with its share of the machine."""

    def __init__(self, settings: Settings, jobs: int):
        self.settings, self._jobs = settings, jobs

    @property
    @override
    def jobs(self) -> int:
        return self._jobs

    @override
    def run(self, tasks: Sequence[RunTask], on_end: OnEnd, on_wait: OnWait) -> bool:
        known = {self._command(task): task for task in tasks}

        def ended(command: Command, code: int, is_stopped: bool) -> None:
            on_end(known[command], failure_message(command.log, code), is_stopped)

        return run_processes(
            list(known),
            jobs=self._jobs,
            num_threads=self.settings.num_threads,
            on_end=ended,
            on_wait=lambda commands: on_wait([known[one] for one in commands]),
        )

    def _command(self, task: RunTask) -> Command:
        words = self.settings.words(task.method, task.seed, task.folder)
        if task.is_begun:
            words = self.settings.words_to_resume(task.method, task.folder)
        return Command(task.name, words, task.folder / "log.txt")


class InProcess(AbstractExecutor):
    """One run after another in this process, for problems defined in Python.

    If runs have a time limit, each compiles its own programs.
    """

    def __init__(
        self,
        case: AbstractCase,
        recipes: Mapping[str, Any],
        minutes: float | int | None,
        **options: Any,
    ):
        self.case, self.recipes, self.minutes = case, recipes, minutes
        self.options = options

    @property
    @override
    def jobs(self) -> int:
        return 1

    @override
    def run(self, tasks: Sequence[RunTask], on_end: OnEnd, on_wait: OnWait) -> bool:
        for task in tasks:
            on_wait([task])
            message, is_stopped = "", False
            try:
                self._run(task)
                is_stopped = _stop_reason(task) == StopReason.interrupted
            except KeyboardInterrupt:
                is_stopped = True
            except Exception as error:  # the other runs go on
                message = f"{type(error).__name__}: {error}"
            on_end(task, message, is_stopped)
            if is_stopped:
                return True
        return False

    def _run(self, task: RunTask) -> None:
        if self.minutes is not None:
            jax.clear_caches()
        recipe = self.recipes[task.method]
        self.case.run(recipe, task.seed, self.minutes, task, **self.options)


def _stop_reason(task: RunTask) -> str | None:
    try:
        best = RunFolder(task.folder).checkpoint("best")
        return load_header(best).get("stop_reason")
    except (FileNotFoundError, BrokenFileError):
        return None


def failure_message(log: Path, code: int) -> str:
    """Why a process failed, from the end of its output and its exit code."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = [line for line in text.splitlines() if line.strip()]
    own = [k for k, line in enumerate(lines) if line.startswith("vrba: ")]
    if own:
        return " ".join(line.strip() for line in lines[own[-1] :])[len("vrba: ") :]
    if code < 0:
        return f"killed by {signal.Signals(-code).name}; is there enough memory?"
    return lines[-1] if lines else f"exit code {code}"


def run_processes(
    commands: Sequence[Command],
    *,
    jobs: int,
    num_threads: int,
    on_end: Callable[[Command, int, bool], None],
    on_wait: Callable[[Sequence[Command]], None],
) -> bool:
    """Run `jobs` commands at a time; return whether a signal stopped them.

    The first Ctrl-C or SIGTERM is passed on to all of them, the second kills them.
    `on_end` gets the exit code, and whether a signal stopped the command.
    """
    waiting, running = list(commands), {}
    with watch_signals() as flag:
        try:
            is_passed_on = False
            while running or (waiting and not flag.is_set):
                while waiting and len(running) < jobs and not flag.is_set:
                    command = waiting.pop(0)
                    running[command] = _start(command, num_threads)
                if flag.is_set and not is_passed_on:
                    is_passed_on = True
                    for process in running.values():
                        process.terminate()  # the run saves its state
                for one in [c for c, p in running.items() if p.poll() is not None]:
                    on_end(one, running.pop(one).returncode, is_passed_on)
                on_wait(list(running))
                time.sleep(_POLL_EVERY)
        finally:
            for process in running.values():
                process.kill()
                process.wait()
        return flag.is_set


def _start(command: Command, num_threads: int) -> subprocess.Popen:
    """A process in a session of its own, so that Ctrl-C reaches it only through us."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with open(command.log, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "vrba", *command.words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(num_threads),
            start_new_session=True,
        )


class Made(NamedTuple):
    """The state of a comparison after its runs were made, or after a stop."""

    folder: ComparisonFolder
    content: dict[str, Any]
    is_stopped: bool


def make_runs(
    folder: ComparisonFolder,
    settings: Settings,
    described: dict[str, Any],
    executor: AbstractExecutor,
    only: str | None = None,
) -> Made:
    """Make the missing runs of a comparison; `only` names some methods, as in `A,B`.

    `described` is the description of the case. Results are written before and after.
    """
    chosen = pick_some("method", only, settings.methods)
    progress, is_stopped = Progress(folder, settings), False
    progress.recall_failures(chosen)
    folder.write(settings, described, progress.failures)
    try:
        tasks = progress.missing_tasks(chosen)
        progress.begin(described["name"], tasks, executor.jobs)
        is_stopped = executor.run(tasks, progress.on_end, progress.on_wait)
    finally:
        progress.board.close()
        content = folder.write(settings, described, progress.failures)
    return Made(folder, content, is_stopped)


class Progress:
    """Shows which runs go on, have ended or have failed; keeps the error messages."""

    def __init__(self, folder: ComparisonFolder, settings: Settings):
        self.folder, self.settings = folder, settings
        self.failures: dict[str, str] = {}
        self.num_ended = 0
        self.board = Board()

    def recall_failures(self, chosen: Sequence[str]) -> None:
        """Keep earlier failures of runs that are neither made now nor have ended."""
        before = self.folder.failures()
        for method, seed in self.settings.runs():
            name = run_name(method, seed)
            is_made = method in chosen or self.folder.result(method, seed)
            if name in before and not is_made:
                self.failures[name] = before[name]

    def missing_tasks(self, chosen: Sequence[str]) -> list[RunTask]:
        """The runs of these methods that have not ended."""
        found = []
        for method, seed in self.settings.runs():
            result = self.folder.result(method, seed)
            if result is not None:
                self.num_ended += 1
                self._note_failed(run_name(method, seed), result)
            elif method in chosen:
                run = self.folder.run_folder(method, seed)
                is_begun = self.folder.is_begun(method, seed)
                found.append(RunTask(method, seed, run, is_begun))
        return found

    def begin(self, problem: str, tasks: Sequence[RunTask], jobs: int) -> None:
        """Announce the comparison."""
        settings, minutes = self.settings, self.settings.minutes
        num_runs = len(settings.runs())
        budget = "" if minutes is None else f" of at most {minutes:g} min"
        left = f", {len(tasks)} of them to make" * (len(tasks) < num_runs)
        self.board.print(
            f"{problem}: {', '.join(settings.methods)} with "
            f"{_counted(settings.num_seeds, 'seed')}, "
            f"{_counted(num_runs, 'run')}{budget}{left}, {jobs} at a time with "
            f"{_counted(settings.num_threads, 'thread')} each, in {self.folder.path}."
        )

    def on_end(self, task: RunTask, message: str, is_stopped: bool) -> None:
        """Report a run that has ended."""
        self.num_ended += 1
        result = self.folder.result(task.method, task.seed)
        if result is None and is_stopped:
            self.board.print(f"{task.name}: stopped")
        elif result is None:
            self.failures[task.name] = message
            self.board.print(f"{task.name}: failed: {message}")
        else:
            self._note_failed(task.name, result)
            self.board.print(f"{task.name}: {_result_text(result)}")

    def on_wait(self, tasks: Sequence[RunTask]) -> None:
        """Show the progress of the running tasks on a terminal."""
        if not self.board.is_live:
            return
        num_runs = len(self.settings.runs())
        rows: list[tuple[str, ...]] = [
            (f"{self.num_ended} of {_counted(num_runs, 'run')} ended",)
        ]
        for task in tasks:
            entry = read_last_line(RunFolder(task.folder).metrics_file)
            rows.append((task.name, *_progress_cells(entry)))
        self.board.show(rows)

    def _note_failed(self, name: str, result: dict[str, Any]) -> None:
        if has_failed(result):
            self.failures[name] = f"ended with {result['stop_reason']}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def _result_text(result: dict[str, Any]) -> str:
    """The result of a run on one line."""
    found = []
    if result["error"]:
        found.append(f"error {result['error']['selected']:.2e} (selected)")
    if result.get("residual_l2") is not None:
        found.append(f"residual {result['residual_l2']:.2e}")
    found += [f"{result['step']} steps", format_duration(result["seconds"])]
    return ", ".join(found)


def _progress_cells(entry: dict[str, Any] | None) -> tuple[str, ...]:
    """The last log entry of a run as cells."""
    if entry is None:
        return ("starting",)
    names = {"residual_l2": "residual", "error": "error"}
    known = [
        f"{name} {entry[key]:.2e}"
        for key, name in names.items()
        if entry.get(key) is not None
    ]
    return (f"step {entry['step']}", *known, format_duration(entry["seconds"]))
