"""Results of methods over seeds: numbers, rows of a table, sentences."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..report import format_number
from ..runs import StopReason, reference_floor
from .statistics import WANTED_CONFIDENCE, Number, Paired, Spread, pair, spread

Result = Mapping[str, Any]
Results = Sequence[Result]

_KEPT = ("step", "seconds", "selected_step")
_OF_PROBLEM = ("residual_l2", "residual_max", "residuals")
LEVELS = ("p50", "p95", "p99", "max")  # of the errors of an operator
_SUMMARISED = ("selected", "last", "residual_l2", *LEVELS, "train", "step", "seconds")
MEASURES = {
    "error": "relative L2 error",
    "test error": "relative L2 error on the test set (mean over scaled functions)",
    "residual": "residual of all terms on held-out points (root mean square)",
}
_COLUMNS = {
    "residual_l2": "residual",
    "p95": "95th percentile",
    "max": "maximum",
    "train": "training set",
    "step": "steps",
    "seconds": "seconds",
}
_MAX_STEP_RATIO = 2  # between runs of equal time, before a warning


def has_failed(result: Result) -> bool:
    """Whether a run ended without a usable result."""
    return result["stop_reason"] == StopReason.not_finite


def result_of(method: str, seed: int, header: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one run, from the header of its checkpoint.

    Scores of a problem are squared residuals, those of an operator errors on the
    validation set.
    """
    found = {"method": method, "seed": seed, "stop_reason": header["stop_reason"]}
    found |= {key: header[key] for key in _KEPT} | {"error": header.get("errors")}
    scores = {"selected": header["score"], "last": header["last_score"]}
    if "residual_l2" not in header:
        return found | {"validation": scores}
    found |= {key: header[key] for key in _OF_PROBLEM}
    return found | {"residual": {key: score**0.5 for key, score in scores.items()}}


def summarise(
    methods: Sequence[str], baseline: str, results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """All methods over their seeds and against the baseline: the parts of a
    `comparison.json` that follow from the runs."""
    measure = "error" if any(r["error"] for r in results) else "residual"
    floor = reference_floor(results[0]["error"]) if measure == "error" else 0.0
    runs: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for result in results:
        runs[result["method"]].append(result | result[measure])
    values = {m: {r["seed"]: r["selected"] for r in found} for m, found in runs.items()}
    others = [method for method in runs if method != baseline]
    ratios = {m: pair(values[m], values[baseline], floor) for m in others}
    is_operator = any("validation" in result for result in results)
    return {
        "measure": MEASURES["test error" if is_operator else measure],
        "floor": floor,
        "baseline": baseline,
        "methods": {m: _spreads(found) for m, found in runs.items() if found},
        "against_baseline": {m: r and r._asdict() for m, r in ratios.items()},
        "rows": comparison_rows(runs, measure, floor),
        "sentences": [
            comparison_sentence(method, baseline, measure, found)
            for method, found in ratios.items()
        ],
        "warnings": _unequal_steps(results),
        "runs": list(results),
    }


def _spreads(results: Results) -> dict[str, Any]:
    """Median, minimum and maximum of each quantity that the runs have."""
    known = {key: [run[key] for run in results if key in run] for key in _SUMMARISED}
    return {key: spread(some)._asdict() for key, some in known.items() if some}


def _unequal_steps(results: Results) -> list[str]:
    """A warning if runs of equal time made very different numbers of steps."""
    steps = [run["step"] for run in results if run["stop_reason"] == "time"]
    if not steps or 0 < max(steps) <= _MAX_STEP_RATIO * min(steps):
        return []
    return [
        f"In the same time runs made {min(steps)} to {max(steps)} steps: the machine "
        "was busy, or the time too short. Give more `--minutes`, or `--steps`."
    ]


def comparison_rows(
    methods: Mapping[str, Results], measure: str, floor: Number = 0.0
) -> list[list[str]]:
    """A header, then a row for each method.

    A run gives `selected` and `last`, the error or residual (`measure`) of two
    iterates, `step` and `seconds`; of a problem also `residual_l2`, of an operator
    `p95` and `max`. Values below `floor` are shown as a bound.
    """
    heads = ["method", "seeds", f"{measure}, selected", f"{measure}, last"]
    given = {key for runs in methods.values() for run in runs for key in run}
    columns = {key: head for key, head in _COLUMNS.items() if key in given}
    rows = [heads + list(columns.values())]
    for method, runs in methods.items():
        row = [method, str(len(runs))]
        row += [_cell(runs, key, floor) for key in ("selected", "last")]
        row += [_cell(runs, key) for key in columns]
        rows.append(row)
    return rows


def _cell(runs: Results, key: str, floor: Number = 0.0) -> str:
    known = [run[key] for run in runs if key in run]
    return format_spread(spread(known), floor) if known else "none"


def format_spread(found: Spread, floor: Number = 0.0) -> str:
    """`median [minimum, maximum]`; values below the floor as a bound."""
    show = lambda v: f"<{format_number(floor)}" if v < floor else format_number(v)
    if found.lowest == found.highest:
        return show(found.median)
    return f"{show(found.median)} [{show(found.lowest)}, {show(found.highest)}]"


def comparison_sentence(
    method: str, baseline: str, measure: str, paired: Paired | None
) -> str:
    """A method against the baseline, with the confidence of the difference."""
    if paired is None:
        return f"{method}: no seed was run both with it and with {baseline}."
    count = len(paired.ratios)
    text = f"{method}: {paired.median:.3g} times the {measure} of {baseline}"
    if count == 1:
        return f"{text} with one seed, which shows nothing."
    text += f" (median of {count} seeds, {paired.lower:.3g} to {paired.upper:.3g})"
    if not (paired.is_lower or paired.is_higher):
        return f"{text}: no significant difference."
    direction = "lower" if paired.is_lower else "higher"
    if paired.confidence >= WANTED_CONFIDENCE:
        percent = math.floor(100 * paired.confidence)
        return f"{text}: significantly {direction} ({percent} % confidence)."
    chance = round(1 / (1 - paired.confidence))
    return (
        f"{text}: {direction} with every seed. Between equal methods this happens by "
        f"chance 1 time in {chance}: a hint, not a proof."
    )
