"""Runs that differ in one setting, some at a time, kept by name: what `ablation` and
`sensitivity` share."""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

import vrba
from vrba.cli.machine import environment, num_cores
from vrba.core import describe, ending, write_atomically
from vrba.report import spread, spread_text
from vrba.train import Recipe

from .commit import commit_of
from .shelf import CLEARLY

ROOT = Path(__file__).parents[1]
ENDS = ("time_reached", "num_steps_reached")
VERDICTS = (
    "A higher error with every seed",
    "A lower error with every seed",
    "Undecided",
)


class Group(NamedTuple):
    """Variants by name, the one that they are compared with, and the problem that they
    solve if it is not the study's."""

    baseline: str
    variants: Mapping[str, Callable[[], Recipe]]
    problem: vrba.AbstractProblem | None = None


class Study(NamedTuple):
    """Groups of variants, each with a budget of so many minutes. A name stands once."""

    name: str
    title: str
    problem: vrba.AbstractProblem
    minutes: float
    groups: Mapping[str, Group]
    head: str

    @property
    def variants(self) -> dict[str, Callable[[], Recipe]]:
        """All of them by name."""
        groups = self.groups.values()
        return {name: make for one in groups for name, make in one.variants.items()}

    @property
    def file(self) -> Path:
        """What is kept."""
        return ROOT / "results" / f"{self.name}.json"

    @property
    def page(self) -> Path:
        """What is told of it."""
        return ROOT / "docs" / f"{self.name}.md"

    def own_problem(self, name: str) -> vrba.AbstractProblem | None:
        """What a variant solves if it is not the problem of the study."""
        groups = self.groups.values()
        return next(one.problem for one in groups if name in one.variants)

    def mark(self, name: str) -> str:
        """What tells recipe, minutes and problem of a variant from others."""
        own = self.own_problem(name)
        told = [self.variants[name](), *([] if own is None else [own])]
        texts = [json.dumps(describe(x), sort_keys=True, default=str) for x in told]
        text = " ".join([f"{self.minutes}", *texts])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def run(self, name: str, seed: int) -> Path:
        """Where one run is written."""
        return ROOT / "runs" / self.name / f"{self.mark(name)}-{seed}.json"

    def done(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Runs by mark and seed: those that were kept, and what was written since."""
        found = {}
        if self.file.exists():
            content = json.loads(self.file.read_text(encoding="utf-8"))
            for run in [run for runs in content["variants"].values() for run in runs]:
                found[run.get("mark"), run["seed"]] = run
        for path in (ROOT / "runs" / self.name).glob("*.json"):
            run = json.loads(path.read_text(encoding="utf-8"))
            mark, _ = path.stem.rsplit("-", 1)
            found[mark, run["seed"]] = run | {"mark": mark}
        return found


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
    status = ending(solution.result["status"])
    if status not in ENDS:
        sys.exit(f"ended with {status}")
    keys = ("step", "seconds", "errors", "residual_l2", "score")
    found = {"seed": seed, "status": status} | {k: solution.result[k] for k in keys}
    found["program"] = solution.result["about"]["program"]
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


def errors_of(runs: list[dict[str, Any]]) -> dict[int, float]:
    """Of the iterate selected by residual, by seed."""
    return {run["seed"]: run["errors"]["selected"] for run in runs}


def ratios_of(
    found: Mapping[str, list[dict[str, Any]]], name: str, baseline: str
) -> list[float]:
    """The error of a variant as a share of that of its baseline for the same seed."""
    usual = errors_of(found.get(baseline, []))
    errors = errors_of(found.get(name, []))
    return [errors[seed] / usual[seed] for seed in errors if seed in usual]


def shown(values: list[float]) -> str:
    """The median, and the ends."""
    return spread_text(spread(values)) if values else "none"


def write_page(study: Study, content: dict[str, Any]) -> None:
    """The table and the figure."""
    study.page.write_text(page(study, content), encoding="utf-8")
    draw(study, content["variants"])
    print(f"See docs/{study.page.name}.")


def page(study: Study, content: dict[str, Any]) -> str:
    """Which variants are better or worse than what they are held against, and all."""
    found, lines = content["variants"], []
    verdicts: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for title, group in study.groups.items():
        for name in group.variants:
            errors = errors_of(found.get(name, []))
            ratios = ratios_of(found, name, group.baseline)
            if name != group.baseline and ratios:
                verdicts[verdict(ratios)].append(name)
            steps = [float(run["step"]) for run in found.get(name, [])]
            cells = [title, name, shown(list(errors.values())), group.baseline]
            cells += [shown(ratios), shown(steps), str(len(errors))]
            lines.append(f"| {' | '.join(cells)} |")
    programs = {
        f"{commit_of(run['program'])}, {run['program']['device']}"
        for runs in found.values()
        for run in runs
    }
    text = f"# {study.title}\n\n{study.head}\n\n"
    text += f"![Errors relative to the baseline]({study.name}.png)\n\n"
    text += f"{content['minutes']:g} minutes a run, one thread.\n\n"
    told = {word: names for word, names in verdicts.items() if names}
    text += "".join(f"- {word}: {'; '.join(names)}.\n" for word, names in told.items())
    text += "\n" if told else ""
    text += "| | variant | error | beside | ratio, same seed | steps | seeds |\n"
    text += "|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n\n"
    text += "".join(f"Failed: {run}\n\n" for run in content["failures"])
    return text + f"Made by {'; '.join(sorted(programs))}.\n"


def verdict(ratios: list[float]) -> str:
    """What all seeds say of a variant, if they say the same clearly."""
    worse, better, undecided = VERDICTS
    if min(ratios) > CLEARLY:
        return worse
    return better if max(ratios) < 1 / CLEARLY else undecided


def draw(study: Study, found: Mapping[str, list[dict[str, Any]]]) -> None:
    """What each variant does to the error: a dot for each seed, a bar at the median."""
    rows = {
        name: ratios
        for group in study.groups.values()
        for name in group.variants
        if name != group.baseline and (ratios := ratios_of(found, name, group.baseline))
    }
    figure, axes = plt.subplots(figsize=(7, 0.28 * len(rows) + 1.2))
    for place, ratios in enumerate(reversed(rows.values())):
        axes.plot(ratios, [place] * len(ratios), "o", ms=4, color="C0", alpha=0.6)
        axes.plot(statistics.median(ratios), place, "|", ms=14, mew=2, color="C3")
    axes.axvline(1.0, color="0.7", lw=1)
    axes.set_yticks(range(len(rows)), list(reversed(rows)))
    axes.set_xscale("log")
    axes.set_xlabel("error / that of the baseline, same seed; the bar is the median")
    axes.set_title(study.title)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / f"{study.name}.png", dpi=130)
    plt.close(figure)
