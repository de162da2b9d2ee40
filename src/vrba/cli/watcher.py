"""Who tells of the runs of a comparison, and remembers which have failed."""

from collections.abc import Sequence
from typing import Any

from ..core import format_duration, read_last_line
from ..report import Board
from ..train import RunFolder
from .arms import Settings
from .children import Task
from .comparison import ComparisonFolder
from .output import is_bad


class Watcher:
    """Tells of runs, and remembers which have failed."""

    def __init__(self, folder: ComparisonFolder, settings: Settings):
        self.folder, self.settings = folder, settings
        self.failures: dict[str, str] = {}
        self.num_ended = 0
        self.board = Board()
        self.runs = {name_of_run(*run): run for run in settings.runs()}

    def recall(self, only: Sequence[str]) -> None:
        """Failures of earlier, of runs that are not made now and have not ended."""
        before = self.folder.failures() if self.folder.file.exists() else {}
        for name, run in self.runs.items():
            if name in before and run[0] not in only and not self.folder.result(*run):
                self.failures[name] = before[name]

    def tasks(self, only: Sequence[str]) -> list[Task]:
        """The runs of these arms that have not ended."""
        found = []
        for name, (arm, seed) in self.runs.items():
            run = self.folder.run(arm, seed)
            result = self.folder.result(arm, seed)
            if result is not None:
                self.num_ended += 1
                if is_bad(result["status"]):
                    self.failures[name] = f"ended with {result['status']}"
                continue
            if arm not in only:
                continue
            words = self.settings.words(arm, seed, run)
            if self.folder.is_begun(arm, seed):
                words = self.settings.words_to_resume(arm, run)
            found.append(Task(name, words, run / "log.txt"))
        return found

    def begin(self, problem: str, tasks: Sequence[Task], jobs: int) -> None:
        """What is about to be done."""
        settings, minutes = self.settings, self.settings.flags.get("minutes")
        budget = "" if minutes is None else f" of at most {minutes:g} min"
        left = f", {len(tasks)} of them to make" * (len(tasks) < len(self.runs))
        self.board.tell(
            f"{problem}: {', '.join(settings.arms)} with "
            f"{_counted(settings.num_seeds, 'seed')}, "
            f"{_counted(len(self.runs), 'run')}{budget}{left}, {jobs} at a time with "
            f"{_counted(settings.num_threads, 'thread')} each, in {self.folder.path}."
        )

    def on_end(self, task: Task, code: int, is_stopped: bool) -> None:
        """One line for a run that has ended."""
        self.num_ended += 1
        result = self.folder.result(*self.runs[task.name])
        if result is None and is_stopped:
            self.board.tell(f"{task.name}: stopped")
        elif result is None:
            self.failures[task.name] = task.complaint(code)
            self.board.tell(f"{task.name}: failed: {self.failures[task.name]}")
        else:
            if is_bad(result["status"]):
                self.failures[task.name] = f"ended with {result['status']}"
            self.board.tell(f"{task.name}: {_in_words(result)}")

    def on_look(self, tasks: Sequence[Task]) -> None:
        """Where those at work stand, if anyone sees it."""
        if not self.board.is_live:
            return
        rows: list[tuple[str, ...]] = [
            (f"{self.num_ended} of {_counted(len(self.runs), 'run')} ended",)
        ]
        for task in tasks:
            run = RunFolder(self.folder.run(*self.runs[task.name]))
            entry = read_last_line(run.metrics_file)
            rows.append((task.name, *_standing(entry)))
        self.board.show(rows)


def name_of_run(arm: str, seed: int) -> str:
    """What it is called where runs are told of."""
    return f"{arm}, seed {seed}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def _in_words(result: dict[str, Any]) -> str:
    """A run that has ended, on one line."""
    found = []
    if result["error"]:
        found.append(f"error {result['error']['selected']:.2e} (selected)")
    if result.get("residual_l2") is not None:
        found.append(f"residual {result['residual_l2']:.2e}")
    found += [f"{result['step']} steps", format_duration(result["seconds"])]
    return ", ".join(found)


def _standing(entry: dict[str, Any] | None) -> tuple[str, ...]:
    """A run at work, in a few words."""
    if entry is None:
        return ("begins",)
    names = {"residual_l2": "residual", "error": "error"}
    known = [
        f"{name} {entry[key]:.2e}"
        for key, name in names.items()
        if entry.get(key) is not None
    ]
    return (f"step {entry['step']}", *known, format_duration(entry["seconds"]))
