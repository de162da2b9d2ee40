"""The linear stage: errors with and without it, its draws, and its error estimate.

`python -m benchmarks.polish --minutes 2 --seeds 3 --core 1` solves every problem of the
package and some of `benchmarks/problems`, one run after another, each in a process on
one core. Each run is stored as soon as it ends, and the same command goes on. It writes
`results/polish.json`; `python -m benchmarks.polish --table` only writes the page.
Variants are `polished` (the default), `trained` (the same time without the stage) and
`uniform` (the stage with uniform draws, as many steps and columns, from the same
checkpoint).
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from vrba.compare import known_problems
from vrba.core import use_precision
from vrba.pinn import (
    PolishDraws,
    Polisher,
    Solution,
    Trainer,
    reference_of,
    relative_error,
)
from vrba.problems import EQUATIONS

from .polish_page import write_page
from .problems import all_problems
from .processes import ROOT, keep_results, run_on_core

IS_LONG = True
RUNS, RESULTS = ROOT / "runs" / "polish", ROOT / "results" / "polish.json"
EXTRA = ("kovasznay",)  # of benchmarks/problems
VARIANTS = ("polished", "trained", "uniform")
KEPT = ("estimated_error", "estimate_is_reliable", "seconds", "step", "stop_reason")


@dataclasses.dataclass(frozen=True)
class Case:
    """One run."""

    problem: str
    variant: str
    minutes: float
    seed: int

    @property
    def name(self) -> str:
        """The name of its folder and of its file."""
        return f"{self.problem}-{self.variant}-{self.minutes:g}-{self.seed}"

    @property
    def folder(self) -> Path:
        """The run folder; the uniform variant uses that of the default."""
        variant = "polished" if self.variant == "uniform" else self.variant
        return RUNS / dataclasses.replace(self, variant=variant).name

    @property
    def file(self) -> Path:
        """The stored result."""
        return RUNS / f"{self.name}.json"

    def command(self) -> list[str]:
        """The process that makes the run."""
        if self.variant == "uniform":
            words = ["benchmarks.polish", "--branch", self.problem, str(self.folder)]
        else:
            words = ["vrba", "solve", *target_of(self.problem), "--diagnose", "0"]
            words += ["--minutes", f"{self.minutes:g}", "--seed", str(self.seed)]
            words += ["--no-polish"] * (self.variant == "trained")
            words += ["--out", str(self.folder), "--json"]
        return [sys.executable, "-m", *words]


def target_of(name: str) -> list[str]:
    """The words that name a problem on the command line."""
    problem, _, setting = name.partition(":")
    target = problem
    if problem not in known_problems():
        kind = all_problems()[problem]
        target = str(Path(sys.modules[kind.__module__].__file__ or ""))
    return [target, *(["--param", setting] if setting else [])]


def problem_of(name: str) -> Any:
    """The problem of a name such as `allen-cahn:is_soft=True`."""
    problem, _, setting = name.partition(":")
    known = {**known_problems(), **all_problems()}
    key, _, value = setting.partition("=")
    return known[problem](**({key: json.loads(value.lower())} if setting else {}))


def all_names() -> list[str]:
    """The problems that are measured."""
    return [*sorted(known_problems()), "allen-cahn:is_soft=True", *EXTRA]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, then write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="some of them; all if not given")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--core", type=int, default=0, help="the core to use")
    parser.add_argument("--table", action="store_true", help="write the page only")
    parser.add_argument("--branch", nargs=2, metavar=("PROBLEM", "FOLDER"))
    asked = parser.parse_args(arguments)
    if asked.branch:
        print(json.dumps(branch(asked.branch[0], Path(asked.branch[1]))))
        return
    if not asked.table:
        for seed in range(asked.seeds):
            for name in asked.problems or all_names():
                for variant in asked.variants.split(","):
                    make(Case(name, variant, asked.minutes, seed), asked.core)
    keep_results(RUNS, RESULTS)
    write_page()


def make(case: Case, core: int) -> None:
    """Make one run, unless it is stored."""
    if case.file.exists():
        return
    begun = time.monotonic()
    done = run_on_core(case.command(), core)
    if done.returncode:
        print(f"{case.name} failed: {done.stderr.strip()[-400:]}", flush=True)
        return
    found = json.loads(done.stdout.splitlines()[-1])
    if case.variant != "uniform":
        found = outcome(found, case.folder)
    found |= dataclasses.asdict(case)
    found["process_seconds"] = round(time.monotonic() - begun, 1)
    case.file.write_text(json.dumps(found), encoding="utf-8")
    print(f"{case.name}: {found['error']:.2e}", flush=True)


def outcome(summary: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The stored part of a run's result."""
    solution_file = folder / "checkpoint" / "best.npz"
    with np.load(solution_file) as arrays:
        result = json.loads(str(arrays["header"]))
    manifest = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    found = {key: result.get(key) for key in KEPT}
    before = result.get("before_polish", result)
    return found | {
        "error": summary["errors"]["selected"],
        "reference_error": summary["errors"]["of_reference"],
        "trained_error": before["errors"]["selected"],
        "steps": result.get("polish", {}).get("steps", []),
        "program": manifest["provenance"],
    }


def branch(name: str, folder: Path) -> dict[str, Any]:
    """Repeat the linear stage of a run with uniform draws and as many steps."""
    solution: Any = Solution.load(folder, problem_of(name))
    trained = solution.before_polish or solution
    evaluator, usual = trained.evaluator, trained.recipe.polish
    settings = dataclasses.replace(usual, draws=PolishDraws(1, 0, 0))
    with use_precision(trained.recipe.dtype):
        reference: Any = reference_of(evaluator.formulation)
        pools, start = Trainer(evaluator).pools, trained.params
        polisher, found, number = Polisher(settings, evaluator, start, pools), [], 0
        state = polisher.init()
        for step in solution.result["polish"]["steps"]:
            if step["num_growths"] != number:  # as many columns as the default had
                number = step["num_growths"]
                polisher = Polisher(settings, evaluator, start, pools, number)
                state = polisher.adopt(state)
            state, info = polisher.step(state)
            error = relative_error(polisher.evaluator, state.params, reference)
            taken = info.choice.candidate.params
            found.append(
                {
                    "estimate": info.choice.estimate,
                    "noise": info.choice.noise,
                    "is_accepted": info.choice.is_accepted,
                    "error": error,
                    "residual": root_mean_square(polisher.residual(taken)),
                    "taken_error": relative_error(polisher.evaluator, taken, reference),
                }
            )
        default = held_out_residual(solution, polisher)
    return {"error": found[-1]["error"], "steps": found, "default_residual": default}


def held_out_residual(solution: Solution, polisher: Polisher) -> float:
    """The residual of a solution at the held-out points of another stage."""
    rows = polisher.points, jnp.zeros((len(polisher.points), 0))
    evaluator, params = solution.evaluator, solution.params
    return root_mean_square(evaluator.residual(params, EQUATIONS, rows))


def root_mean_square(values: Any) -> float:
    """The root mean square of residuals."""
    return float(np.sqrt(np.mean(np.square(values))))


if __name__ == "__main__":
    main()
