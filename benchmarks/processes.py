"""Processes of benchmarks, each on one core."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_on_core(
    command: list[str],
    core: int,
    *,
    environment: dict[str, str] | None = None,
    max_seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command on a core; raise `TimeoutExpired` when it is too long."""
    return subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=max_seconds,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
