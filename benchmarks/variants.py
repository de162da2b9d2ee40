"""Runs of a study, some at a time, kept by name: what `ablation` and `sensitivity`
share."""

import argparse
import json
import subprocess
import sys
import time

import vrba
from vrba.compare import environment, num_cores
from vrba.core import write_atomically

from .study import ROOT, Study
from .study_page import write_page

ENDS = ("time", "steps")


def main(study: Study) -> None:
    """Makes the runs that are missing, then the page and its figure."""
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="write the page only")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run is not None:
        solve_one(study, asked.run[0], int(asked.run[1]))
        return
    if not asked.table:
        keep(study, make_missing(study, range(asked.seeds)))
    if not study.file.exists():
        sys.exit(f"There is no {study.file.name} yet: leave out --table.")
    write_page(study, json.loads(study.file.read_text(encoding="utf-8")))


def solve_one(study: Study, name: str, seed: int) -> None:
    """One run, in a process of its own; one that was stopped is not kept."""
    own = study.own_problem(name)
    problem, recipe = study.problem if own is None else own, study.variants[name]()
    solution = vrba.solve(problem, recipe, seed, study.minutes, diagnose=0)
    stop_reason = solution.result["stop_reason"]
    if stop_reason not in ENDS:
        sys.exit(f"ended with {stop_reason}")
    keys = ("step", "seconds", "errors", "residual_l2", "score")
    found = {"seed": seed, "stop_reason": stop_reason} | {
        k: solution.result[k] for k in keys
    }
    found["program"] = solution.result["manifest"]["provenance"]
    path = study.run(name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(found).encode())


def make_missing(study: Study, seeds: range) -> list[str]:
    """As many at a time as there are cores, with one thread each; says what failed."""
    done, marks = study.done(), {name: study.mark(name) for name in study.variants}
    each = [(name, seed) for seed in seeds for name in study.variants]
    waiting = [(name, seed) for name, seed in each if (marks[name], seed) not in done]
    running: dict[tuple[str, int], subprocess.Popen] = {}
    failures = []
    try:
        while waiting or running:
            while waiting and len(running) < num_cores():
                run = waiting.pop(0)
                running[run] = started(study, *run)
            time.sleep(0.2)
            for run in [run for run, one in running.items() if one.poll() is not None]:
                if running.pop(run).returncode:
                    failures.append(f"{run[0]}, seed {run[1]}")
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return failures


def started(study: Study, name: str, seed: int) -> subprocess.Popen:
    """A run, in a session of its own: Ctrl-C ends it through us."""
    print(f"{name}, seed {seed}", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{study.name}"]
    return subprocess.Popen(
        [*command, "--run", name, str(seed)],
        cwd=ROOT,
        env=environment(1),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def keep(study: Study, failures: list[str]) -> None:
    """All runs of these variants in one file, by seed."""
    done, found = study.done(), {}
    for name in study.variants:
        mark = study.mark(name)
        runs = [run for (other, _), run in done.items() if other == mark]
        found[name] = sorted(runs, key=lambda run: run["seed"])
    content = {"minutes": study.minutes, "variants": found, "failures": failures}
    text = json.dumps(content, indent=1) + "\n"
    write_atomically(study.file, text.encode())
