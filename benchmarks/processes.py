"""Processes of benchmarks, each on one core, and their results."""

import json
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


def keep_results(runs: Path, results: Path) -> None:
    """Join the stored runs of a folder into a file of results, beside those it has."""
    kept = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    for path in sorted(runs.glob("*.json")):
        kept[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    results.write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")
