"""Problems that the package was not tuned on, with the default recipe.

`python -m benchmarks.robust --set hard --seeds 3 --core 1` solves the problems of a set
with `vrba solve`, one run after another, each in a process on one core. Each run is
stored as soon as it ends, also a failed one, and the same command goes on. It writes
`results/robust.json` and `docs/robust.md`; `--table` only writes these. Sets share runs
of the same problem, flags, minutes and seed:

- `hard`: nine problems with targets, two of them also without the linear stage
- `new`: ten more problems, reported as they came
- `shipped`: all problems of the package, compared with `results/polish.json`
- `pinnacle`: problems of PINNacle (Hao et al. 2023) with our references
- `ablation`: five problems, each mechanism left out
- `cost`: the same problems without balance and exact conditions
"""

import argparse
import dataclasses
import itertools
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vrba.runs import RunFolder, solution_sentence

from .polish import target_of
from .processes import ROOT, keep_results, run_on_core
from .robust_page import RESULTS, write_page
from .robust_sets import Kind, sets

IS_LONG = True
RUNS = ROOT / "runs" / "robust"
NUM_LAST_WORDS = 600  # characters of a failed process that are stored
INTERRUPTED = (130, 143, -2, -15)  # exit codes of a process that was stopped
ROOM_SECONDS = 600.0  # of a process beside its time limit: imports, reference, report
PARTS = ("marching", "continuation")

Runner = Callable[..., subprocess.CompletedProcess[str]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One run."""

    kind: Kind
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder and of its file."""
        problem, variant, minutes, _ = self.kind
        return f"{problem}-{variant}-{minutes:g}-{self.seed}".replace(",", "-")

    @property
    def folder(self) -> Path:
        """The run folder."""
        return RUNS / self.name

    @property
    def file(self) -> Path:
        """The stored result."""
        return RUNS / f"{self.name}.json"

    def command(self) -> list[str]:
        """The process that makes the run."""
        words = ["vrba", "solve", *target_of(self.kind.problem), "--diagnose", "0"]
        words += ["--minutes", f"{self.kind.minutes:g}", "--seed", str(self.seed)]
        words += [*self.kind.flags, "--out", str(self.folder), "--json"]
        return [sys.executable, "-m", *words]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, then write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="some of them; all if not given")
    parser.add_argument("--set", default=",".join(sets()), help="sets of problems")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--core", type=int, default=0, help="the core to use")
    parser.add_argument("--table", action="store_true", help="write the page only")
    asked = parser.parse_args(arguments)
    chosen = asked.set.split(",")
    if unknown := set(chosen) - set(sets()):
        sys.exit(f"No set named {', '.join(sorted(unknown))}: {', '.join(sets())}.")
    kinds = [kind for name in chosen for kind in sets()[name]]
    if unknown := set(asked.problems) - {kind.problem for kind in kinds}:
        sys.exit(f"No problem named {', '.join(sorted(unknown))} in these sets.")
    RUNS.mkdir(parents=True, exist_ok=True)
    if not asked.table:
        for seed, kind in itertools.product(range(asked.seeds), kinds):
            if not asked.problems or kind.problem in asked.problems:
                make(Case(kind, seed), asked.core)
    keep_results(RUNS, RESULTS)
    write_page()


def make(case: Case, core: int, run: Runner = run_on_core) -> None:
    """Make one run, unless it is stored; store a failure, too."""
    if case.file.exists():
        return
    shutil.rmtree(case.folder, ignore_errors=True)  # of a run that was stopped
    problem, variant, minutes, _ = case.kind
    found: dict[str, Any] = {"problem": problem, "variant": variant}
    found |= {"minutes": minutes, "seed": case.seed}
    begun, longest = time.monotonic(), 60 * minutes + ROOM_SECONDS
    try:
        done = run(case.command(), core, max_seconds=longest)
    except subprocess.TimeoutExpired:
        found["failure"] = f"no end after {longest:g} s"
    else:
        if done.returncode in INTERRUPTED:
            sys.exit("Stopped; the same command goes on.")
        found |= {"exit_code": done.returncode} | ended(done, case.folder)
    found["process_seconds"] = round(time.monotonic() - begun, 1)
    partial = case.file.with_suffix(".part")
    partial.write_text(json.dumps(found), encoding="utf-8")
    partial.rename(case.file)
    error = found.get("error")
    text = found.get("failure") if error is None else f"{error:.2e}"
    print(f"{case.name}: {text}", flush=True)


def ended(done: subprocess.CompletedProcess[str], folder: Path) -> dict[str, Any]:
    """The stored part of a run's result, or the last words of a failed process."""
    lines = done.stdout.strip().splitlines()
    try:
        summary = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        words = (done.stderr.strip() or "no words")[-NUM_LAST_WORDS:]
        return {"failure": f"exit code {done.returncode}: {words}"}
    return outcome(summary, folder)


def outcome(summary: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The errors of a run, how it ended, and what was done in it."""
    with np.load(folder / "checkpoint" / "best.npz") as arrays:
        result = json.loads(str(arrays["header"]))
    manifest = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    kept = ("estimated_error", "estimate_is_reliable", "status", "stop_reason")
    kept = (*kept, "seconds", "step", "unknowns")
    before = result.get("before_polish", result)
    return {
        **{key: summary.get(key) for key in kept},
        "error": summary["errors"]["selected"],
        "reference_error": summary["errors"]["of_reference"],
        "trained_error": before["errors"]["selected"],
        "sentence": solution_sentence(summary["problem"], result),
        "parts": {name: result[name] for name in PARTS if name in result},
        "preparation": manifest.get("preparation", result.get("preparation")),
        "program": manifest["provenance"],
        **pace(RunFolder(folder).record()),
    }


def pace(record: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """The seconds until training begins, and those of a step, both by the median step.

    Entries of the linear stage and of the first step, which compiles, do not count.
    """
    steps = [e for e in record if e.get("step") and "polish_step" not in e]
    pairs = list(itertools.pairwise(steps))
    paces = [
        (b["seconds"] - a["seconds"]) / (b["step"] - a["step"])
        for a, b in pairs
        if b["step"] > a["step"]
    ]
    if not paces:
        return {"start_seconds": None, "step_seconds": None}
    usual, first = statistics.median(paces), steps[0]
    start = first["seconds"] - usual * first["step"]
    return {"start_seconds": start, "step_seconds": usual}


if __name__ == "__main__":
    main()
