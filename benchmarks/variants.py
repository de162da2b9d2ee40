"""Runs that differ in one setting, some at a time, kept by name: what `ablation` and
`sensitivity` share."""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

import vrba
from vrba.cli.machine import environment, num_cores
from vrba.train import Recipe

matplotlib.use("Agg")

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]


class Study(NamedTuple):
    """Variants of a recipe by group and name; the first of all is what the others are
    compared with."""

    name: str
    title: str
    problem: vrba.AbstractProblem
    groups: Mapping[str, Mapping[str, Callable[[], Recipe]]]
    head: str

    @property
    def variants(self) -> dict[str, Callable[[], Recipe]]:
        """All of them by name."""
        return {n: make for group in self.groups.values() for n, make in group.items()}

    @property
    def file(self) -> Path:
        """What is kept."""
        return ROOT / "results" / f"{self.name}.json"


def main(study: Study) -> None:
    """Makes the runs that are missing, then the page and its figure."""
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="write the page only")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run is not None:
        name, seed, out = asked.run
        solve_one(study, name, seed, out, asked.minutes)
        return
    if not asked.table:
        make_missing(study, asked)
    write_page(study, json.loads(study.file.read_text(encoding="utf-8")))


def solve_one(study: Study, name: str, seed: str, out: str, minutes: float) -> None:
    """One run, in a process of its own."""
    solution = vrba.solve(
        study.problem, study.variants[name](), int(seed), minutes, diagnose=0
    )
    keys = ("step", "seconds", "errors", "residual_l2", "score")
    found = {key: solution.result[key] for key in keys}
    found["program"] = solution.result["about"]["program"]
    Path(out).write_text(json.dumps(found), encoding="utf-8")


def make_missing(study: Study, asked: argparse.Namespace) -> None:
    """As many at a time as there are cores, with one thread each."""
    folder = ROOT / "runs" / study.name / f"{asked.minutes:g}"
    folder.mkdir(parents=True, exist_ok=True)
    waiting = []
    for seed in range(asked.seeds):
        for number, name in enumerate(study.variants):
            out = folder / f"{number}-{seed}.json"
            if not out.exists():
                waiting.append((name, str(seed), str(out)))
    running: list[subprocess.Popen] = []
    module = f"benchmarks.{study.name}"
    while waiting or running:
        while waiting and len(running) < num_cores():
            run = waiting.pop(0)
            print(*run[:2], flush=True)
            words = ["--minutes", f"{asked.minutes:g}", "--run", *run]
            command = [sys.executable, "-m", module, *words]
            running.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=environment(1), stderr=subprocess.DEVNULL
                )
            )
        running[0].wait()
        running = [process for process in running if process.poll() is None]
    found = {}
    for number, name in enumerate(study.variants):
        runs = [folder / f"{number}-{seed}.json" for seed in range(asked.seeds)]
        runs = [json.loads(run.read_text("utf-8")) for run in runs if run.exists()]
        found[name] = runs
    content = {"minutes": asked.minutes, "variants": found}
    study.file.parent.mkdir(exist_ok=True)
    study.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def errors_of(runs: list[dict[str, Any]]) -> list[float]:
    """Of the iterate selected by residual, seed by seed."""
    return [run["errors"]["selected"] for run in runs]


def shown(values: list[float], form: str) -> str:
    """The median, and the ends."""
    middle = statistics.median(values)
    return f"{middle:{form}} [{min(values):{form}}, {max(values):{form}}]"


def write_page(study: Study, content: dict[str, Any]) -> None:
    """The table and the figure."""
    found = content["variants"]
    usual = errors_of(next(iter(found.values())))
    lines = []
    for group, variants in study.groups.items():
        for name in variants:
            errors = errors_of(found.get(name, []))
            if not errors:
                continue
            paired = [e / u for e, u in zip(errors, usual, strict=False)]
            steps = statistics.median(run["step"] for run in found[name])
            cells = [
                group,
                name,
                shown(errors, ".1e"),
                shown(paired, ".2g"),
                f"{steps:.0f}",
                str(len(errors)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    heads = "| | variant | error | error / default, same seed | steps | seeds |\n"
    text = f"# {study.title}\n\n{study.head}\n\n![]({study.name}.png)\n\n"
    text += f"{content['minutes']:g} minutes a run, one thread.\n\n"
    text += heads + "|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    (ROOT / "docs" / f"{study.name}.md").write_text(text, encoding="utf-8")
    draw(study, found)
    print(f"See docs/{study.name}.md.")


def draw(study: Study, found: Mapping[str, list[dict[str, Any]]]) -> None:
    """A dot for each seed, a bar at the median, the default as a line."""
    names = [name for name in study.variants if found.get(name)]
    figure, axes = plt.subplots(figsize=(7, 0.28 * len(names) + 1.2))
    for place, name in enumerate(reversed(names)):
        errors = errors_of(found[name])
        axes.plot(errors, [place] * len(errors), "o", ms=4, color="C0", alpha=0.6)
        axes.plot(statistics.median(errors), place, "|", ms=14, mew=2, color="C3")
    axes.axvline(statistics.median(errors_of(found[names[0]])), color="0.7", lw=1)
    axes.set_yticks(range(len(names)), list(reversed(names)))
    axes.set_xscale("log")
    axes.set_xlabel("relative L2 error: each seed, and the median")
    axes.set_title(study.title)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / f"{study.name}.png", dpi=130)
