"""Commands as processes of their own, some at a time, stopped together."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..train.loop import watch_signals
from .machine import environment

_LOOK_EVERY = 0.2  # seconds


class Task(NamedTuple):
    """Words for `vrba`, and where what it says is written."""

    name: str
    words: tuple[str, ...]
    log: Path

    def complaint(self, code: int) -> str:
        """Why it ended so, from what it said last."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in lines if line.strip()]
        own = [k for k, line in enumerate(said) if line.startswith("vrba: ")]
        if own:
            return " ".join(line.strip() for line in said[own[-1] :])[len("vrba: ") :]
        if code < 0:
            return f"ended by {signal.Signals(-code).name}; is there enough memory?"
        return said[-1] if said else f"ended with code {code}"


def run_all(
    tasks: Sequence[Task],
    *,
    jobs: int,
    num_threads: int,
    on_end: Callable[[Task, int, bool], None],
    on_look: Callable[[Sequence[Task]], None],
) -> bool:
    """Runs `jobs` of them at a time; returns whether a signal stopped it.

    The first Ctrl-C or SIGTERM is passed on, and all are waited for; the second ends
    them at once. `on_end` is told the exit code, and whether it was stopped.
    """
    waiting, running = list(tasks), {}
    with watch_signals() as flag:
        try:
            is_told = False
            while running or (waiting and not flag.is_set):
                while waiting and len(running) < jobs and not flag.is_set:
                    task = waiting.pop(0)
                    running[task] = _started(task, num_threads)
                if flag.is_set and not is_told:
                    is_told = True
                    for process in running.values():
                        process.terminate()  # which saves all
                for task in [t for t, p in running.items() if p.poll() is not None]:
                    on_end(task, running.pop(task).returncode, is_told)
                on_look(list(running))
                time.sleep(_LOOK_EVERY)
        finally:
            for process in running.values():
                process.kill()
                process.wait()
        return flag.is_set


def _started(task: Task, num_threads: int) -> subprocess.Popen:
    """In a session of its own, so that Ctrl-C reaches it through us alone."""
    task.log.parent.mkdir(parents=True, exist_ok=True)
    with open(task.log, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "vrba", *task.words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(num_threads),
            start_new_session=True,
        )
