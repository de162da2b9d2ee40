"""Runs as processes: equal results, a limit on their number, and signals."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.compare.cases import (
    DECAY,
    TINY,
    call,
    processes_share_cache,
    residuals,
    runs_in_this_process,
)
from vrba.compare import executors, failure_message

Command = executors.Command


@pytest.mark.slow
def test_processes_make_the_same_runs(users_compiler, tmp_path, monkeypatch):
    """Bit for bit, and every run has a page."""
    monkeypatch.chdir(tmp_path)
    Path("decay.py").write_text(DECAY)
    words = ["compare", "decay.py", "--policies", "uniform,default:exponential"]
    words += ["--seeds", 1, "--seed", 3, *TINY, "--steps", 3, "--json"]
    with runs_in_this_process():
        _, expected, _ = call(*words, "--out", "here")
    with processes_share_cache(tmp_path / "compiled"):
        code, out, err = call(*words, "--out", "processes")
    assert code == 0, err
    assert residuals(json.loads(out)) == residuals(json.loads(expected))
    page = Path("processes/report.html").read_text(encoding="utf-8")
    assert 'href="default-exponential/seed-3/report.html"' in page


SLEEP = "import signal, sys, time\n"
SLEEP += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))\n"
SLEEP += "print('ready', flush=True)\ntime.sleep(60)"


@pytest.fixture
def scripts(monkeypatch):
    """The words of a command are a Python program."""
    start = executors.subprocess.Popen

    def popen(command, **options):
        return start([sys.executable, "-c", *command[4:]], **options)

    monkeypatch.setattr(executors.subprocess, "Popen", popen)


def test_a_number_of_tasks_runs_at_a_time(scripts, tmp_path):
    ended, most = [], []
    texts = [
        "import sys; sys.exit(3)",
        "import os; os.kill(os.getpid(), 9)",
        "print(1)",
    ]
    tasks = [
        Command(str(k), (text,), tmp_path / f"{k}") for k, text in enumerate(texts)
    ]
    is_stopped = executors.run_processes(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda task, code, _: ended.append((task.name, code)),
        on_wait=lambda running: most.append(len(running)),
    )
    assert not is_stopped and max(most) <= 2
    assert sorted(ended) == [("0", 3), ("1", -9), ("2", 0)]
    assert failure_message(tasks[0].log, 3) == "exit code 3"
    assert "SIGKILL" in failure_message(tasks[1].log, -9)
    assert failure_message(tasks[2].log, 0) == "1"


def test_signal_stops_all_tasks(scripts, tmp_path):
    ended = []
    tasks = [Command(str(k), (SLEEP,), tmp_path / f"{k}") for k in range(3)]

    def press():
        logs = [task.log for task in tasks[:2]]
        while not all(log.exists() and "ready" in log.read_text() for log in logs):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    is_stopped = executors.run_processes(
        tasks,
        jobs=2,
        num_threads=1,
        on_end=lambda *end: ended.append((end[0].name, *end[1:])),
        on_wait=lambda running: None,
    )
    thread.join()
    assert is_stopped and sorted(ended) == [("0", 130, True), ("1", 130, True)]
    assert not tasks[2].log.exists()
