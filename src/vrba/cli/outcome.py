"""What a run has come to, as a sentence and as one JSON object."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..compare import as_json as as_json
from ..core import ending
from ..train import Solution, disagreement


def status_of(solution: Solution) -> str:
    """The name of the reason why the run ended, such as `time_reached`."""
    return ending(solution.result["status"])


def is_bad(status: str) -> bool:
    """Whether a run that ended so has failed."""
    return status == "nonfinite_objective"


def summary(solution: Solution, run: Path) -> dict[str, Any]:
    """The result as plain values."""
    result = solution.result
    keys = ("step", "seconds", "selected_step", "residual_l2", "residual_max")
    return {
        "run": str(run),
        "problem": type(solution.problem).__name__,
        **{key: result[key] for key in keys},
        "status": status_of(solution),
        "message": result["status"],
        "residuals": result["residuals"],
        "unknowns": result["unknowns"],
        "errors": result.get("errors"),
        "seed": solution.trainer.seed,
        "dtype": solution.trainer.recipe.dtype,
        "num_params": result["about"]["num_params"],
    }


def summary_of_all(
    solutions: Sequence[Solution], runs: Sequence[Path], best: int
) -> dict[str, Any]:
    """The best of several seeds, by residual, with the rest beside it."""
    each = [summary(s, run) for s, run in zip(solutions, runs, strict=True)]
    if len(each) == 1:
        return each[0]
    return each[best] | {
        "disagreement": disagreement(list(solutions)),
        "spread_of_unknowns": spread_of_unknowns(solutions),
        "runs": each,
    }


def spread_of_unknowns(solutions: Sequence[Solution]) -> dict[str, list[float]]:
    """The mean and the standard deviation over seeds of what was sought."""
    found = {}
    for name in solutions[0].result["unknowns"]:
        values = [solution.result["unknowns"][name] for solution in solutions]
        found[name] = [statistics.mean(values), statistics.stdev(values)]
    return found


def best_of(solutions: Sequence[Solution]) -> int:
    """Which one has the lowest residual on held-out points: no reference is asked."""
    return min(range(len(solutions)), key=lambda k: solutions[k].result["score"])


def sentence(solutions: Sequence[Solution], best: int) -> str:
    """The result in words; for several seeds with how far they are apart."""
    text = solutions[best].sentence()
    if len(solutions) == 1:
        return text
    for name, (mean, deviation) in spread_of_unknowns(solutions).items():
        text += f" Over the seeds {name} = {mean:.6g} +- {deviation:.1g}."
    return (
        f"{text} {len(solutions)} seeds disagree by "
        f"{disagreement(list(solutions)):.2e} (largest relative L2 distance of two of "
        "them), an indicator of accuracy; this is the one of lowest residual."
    )
