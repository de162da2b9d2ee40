"""What the runs of several arms have come to, against a baseline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import ending, floor_of
from .paired import pair, spread
from .tables import comparison_sentence, comparison_table

_KEPT = ("step", "seconds", "selected_step")
_OF_PROBLEM = ("residual_l2", "residual_max", "residuals")
LEVELS = ("p50", "p95", "p99", "max")  # of the errors of an operator
_SHOWN = ("selected", "last", "residual_l2", *LEVELS, "train", "step", "seconds")
MEASURES = {
    "error": "relative L2 error",
    "test error": "relative L2 error on the test set (mean over scaled functions)",
    "residual": "residual of all terms on held-out points (root mean square)",
}
_MOST_UNEQUAL = 2  # times as many steps in the same time


def run_of(path: Path, arm: str, seed: int) -> Path:
    """The folder of one run of a comparison."""
    return path / arm.replace(":", "-") / f"seed-{seed}"


def result_of(arm: str, seed: int, header: Mapping[str, Any]) -> dict[str, Any]:
    """What one run of an arm has come to, from the header of its checkpoint. Scores of
    a problem are squares of residuals, those of an operator errors on the validation
    set."""
    found = {"arm": arm, "seed": seed, "status": ending(header["status"])}
    found |= {key: header[key] for key in _KEPT} | {"error": header.get("errors")}
    scores = {"selected": header["score"], "last": header["last_score"]}
    if "residual_l2" not in header:
        return found | {"validation": scores}
    found |= {key: header[key] for key in _OF_PROBLEM}
    return found | {"residual": {key: score**0.5 for key, score in scores.items()}}


def summarise(
    arms: Sequence[str], baseline: str, results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Every arm over its seeds, every arm against the baseline, and all runs."""
    measure = "error" if any(r["error"] for r in results) else "residual"
    floor = floor_of(results[0]["error"]) if measure == "error" else 0.0
    runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    for result in results:
        runs[result["arm"]].append(result | result[measure])
    values = {arm: {r["seed"]: r["selected"] for r in runs[arm]} for arm in runs}
    others = [arm for arm in runs if arm != baseline]
    ratios = {arm: pair(values[arm], values[baseline], floor) for arm in others}
    sentences = [
        comparison_sentence(arm, baseline, measure, found)
        for arm, found in ratios.items()
    ]
    spreads = {
        arm: {
            key: spread(told)._asdict()
            for key in _SHOWN
            if (told := [run[key] for run in found if key in run])
        }
        for arm, found in runs.items()
        if found
    }
    is_operator = any("validation" in result for result in results)
    return {
        "measure": MEASURES["test error" if is_operator else measure],
        "floor": floor,
        "baseline": baseline,
        "arms": spreads,
        "against_baseline": {a: r and r._asdict() for a, r in ratios.items()},
        "table": comparison_table(runs, measure, floor),
        "sentences": sentences,
        "warnings": _warnings(results),
        "runs": list(results),
    }


def _warnings(results: Sequence[dict[str, Any]]) -> list[str]:
    """A time is an equal budget only if the machine was equally fast."""
    steps = [run["step"] for run in results if run["status"] == "time_reached"]
    if not steps or 0 < max(steps) <= _MOST_UNEQUAL * min(steps):
        return []
    return [
        f"In the same time runs made {min(steps)} to {max(steps)} steps: the machine "
        "was busy, or the time too short. Give more `--minutes`, or `--steps`."
    ]
