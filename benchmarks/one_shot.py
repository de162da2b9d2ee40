"""One shot: the time to an error on smooth problems, beside FastLSQ and other packages.

`python -m benchmarks.one_shot --core 0` makes the missing runs one after another, each
in a process on one core, and the same command goes on. It writes
`results/one_shot.json` and the page; `--table` only writes the page. Errors against the
reference are measured beside each run, and decide nothing in it.

Methods are `vrba` (`vrba solve NAME --tolerance 1e-8`), FastLSQ with each scale of its
own list, and `fastlsq-auto`, which searches the list. Curves of packages that train are
those of `results/peers.json`.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vrba.runs import RunFolder

from .one_shot_page import RESULTS, write_page
from .peers.cases import FEATURE_CASES
from .peers.runs import has_finished, python_of, read_log, write_reference
from .processes import ROOT, keep_results, run_on_core

IS_LONG = True
RUNS = ROOT / "runs" / "one_shot"
SCRIPT = Path(__file__).parent / "peers" / "fastlsq_script.py"
SCALES = ("0.5", "1", "2", "3", "5", "8", "10", "12", "15", "auto")  # FastLSQ's list
MINUTES = 1.5
START_SECONDS = 30.0  # of a process, for imports


@dataclasses.dataclass(frozen=True)
class Case:
    """One run."""

    problem: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.problem}-{self.method}-{self.seed}"

    @property
    def file(self) -> Path:
        """The stored result."""
        return RUNS / f"{self.name}.json"

    @property
    def is_own(self) -> bool:
        """Whether it is vrba."""
        return self.method == "vrba"

    @property
    def output(self) -> Path:
        """The run folder, or the log of FastLSQ."""
        return RUNS / (self.name if self.is_own else f"{self.name}.jsonl")

    def command(self) -> list[str]:
        """The process that makes the run."""
        limits = ["--minutes", f"{MINUTES:g}", "--seed", str(self.seed)]
        if self.is_own:
            words = [sys.executable, "-m", "vrba", "solve", self.problem]
            words += ["--tolerance", "1e-8", "--diagnose", "0"]
            return [*words, *limits, "--out", str(self.output), "--json"]
        words = [str(python_of("fastlsq")), str(SCRIPT), "--problem", self.problem]
        words += ["--scale", self.method.removeprefix("fastlsq-")]
        words += ["--reference", str(write_reference(self.problem))]
        return [*words, *limits, "--log", str(self.output)]


def all_cases(problems: Sequence[str], num_seeds: int) -> list[Case]:
    """Every run, those of vrba first."""
    methods = ["vrba", *(f"fastlsq-{scale}" for scale in SCALES)]
    return [
        Case(problem, method, seed)
        for seed in range(num_seeds)
        for method in methods
        for problem in problems
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, then write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="some of them; all if not given")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=0, help="the core to use")
    parser.add_argument("--methods", default="", help="some of them; all if not given")
    parser.add_argument("--table", action="store_true", help="write the page only")
    asked = parser.parse_args(arguments)
    if not asked.table:
        RUNS.mkdir(parents=True, exist_ok=True)
        cases = all_cases(asked.problems or list(FEATURE_CASES), asked.seeds)
        for case in cases:
            if not asked.methods or case.method in asked.methods.split(","):
                make(case, asked.core)
        keep_results(RUNS, RESULTS)
    write_page()


def make(case: Case, core: int) -> None:
    """Make one run, unless it is stored."""
    if case.file.exists():
        return
    variables = None if case.is_own else {**os.environ, "OMP_NUM_THREADS": "1"}
    longest, begun = 60 * MINUTES + START_SECONDS, time.monotonic()
    if case.is_own:  # of a run that was stopped
        shutil.rmtree(case.output, ignore_errors=True)
    failure = ""
    try:
        done = run_on_core(
            case.command(), core, environment=variables, max_seconds=longest
        )
        if done.returncode:
            failure = done.stderr.strip()[-200:]
    except subprocess.TimeoutExpired:
        failure = f"not finished after {60 * MINUTES:g} s"
    found = own_outcome(case) if case.is_own else fastlsq_outcome(case)
    found |= dataclasses.asdict(case) | {"failure": failure}
    found["process_seconds"] = round(time.monotonic() - begun, 1)
    case.file.write_text(json.dumps(found), encoding="utf-8")
    print(f"{case.name}: {found['curve'][-3:]} {failure}", flush=True)


def own_outcome(case: Case) -> dict[str, Any]:
    """The errors of a run of vrba over time, and how it ended."""
    folder = RunFolder(case.output)
    record = folder.record()
    manifest = json.loads((case.output / "recipe.json").read_text(encoding="utf-8"))
    estimates = [e["estimated_error"] for e in record if "estimated_error" in e]
    return {
        "curve": [[entry["seconds"], entry["error"]] for entry in record],
        "trained_steps": max((entry["step"] for entry in record), default=0),
        "estimated_error": estimates[-1] if estimates else None,
        "program": manifest["provenance"],
    }


def fastlsq_outcome(case: Case) -> dict[str, Any]:
    """The errors of a run of FastLSQ over time, and its scale."""
    lines = read_log(case.output)
    entries = [line for line in lines if "error" in line]
    return {
        "curve": [[entry["seconds"], entry["error"]] for entry in entries],
        "scale": lines[-1]["scale"] if has_finished(lines) else None,
        "versions": lines[0]["about"]["versions"] if lines else {},
    }


if __name__ == "__main__":
    main()
