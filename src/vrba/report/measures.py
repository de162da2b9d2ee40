"""Rows of the tables of a page: errors and diagnostics of a run."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..diagnose import PERCENTILES, measure_errors
from ..runs import RunRecord

_DIAGNOSTICS = {
    "effective_share": "effective sample size / pool size",
    "entropy": "entropy of the weights (1: uniform)",
    "kl": "Kullback-Leibler divergence of the tilted from the base distribution",
    "duality_gap": "duality gap / mean residual",
    "snr": "gradient signal-to-noise ratio",
    "snr_unit": "gradient signal-to-noise ratio, normalised gradients",
    "snr_floor": "gradient signal-to-noise ratio of pure noise",
    "estimator_plain": "variance per sample of the plain mean",
    "estimator_weighted": "variance per sample of the weighted mean",
    "geometric_complexity": "mean squared gradient of the solution",
    "rounding_l2": "residual caused by rounding",
}
_NAMED_DIAGNOSTICS = {
    "wasserstein": "Wasserstein distance of the tilted from the base distribution in",
    "gradient": "gradient norm of",
    "alignment": "cosine between the gradients of the equations and of",
}
_FUNCTION_ERRORS = {
    "selected": "mean",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "largest",
}


def error_rows(run: RunRecord) -> list[list[str]]:
    """Rows of errors below a row of headings; none if no error is known.

    An operator has errors of functions, a problem those of each field in several norms.
    """
    return _function_rows(run) if run.is_operator else _field_rows(run)


def _function_rows(run: RunRecord) -> list[list[str]]:
    result = run.result
    errors = result.get("errors")
    if not errors:
        return []
    rest = [""] * (len(_FUNCTION_ERRORS) - 1)
    rows = [["relative L2 error", *_FUNCTION_ERRORS.values()]]
    rows.append(["test set, selected", *(_number(errors[k]) for k in _FUNCTION_ERRORS)])
    rows.append(["test set, last", _number(errors["last"]), *rest])
    if "train" in errors:
        rows.append(["training set, selected", _number(errors["train"]), *rest])
    scores = {"selected": result.get("score"), "last": result.get("last_score")}
    for which, score in scores.items():
        if score is not None:
            rows.append([f"validation set, {which}", _number(score), *rest])
    return rows


def _field_rows(run: RunRecord) -> list[list[str]]:
    fields = run.fields or {}
    names = [str(name) for name in fields.get("fields", ())]
    known = [name for name in names if f"reference {name}" in fields]
    if not known:
        return []
    levels = [f"{level}th percentile" for level in PERCENTILES]
    rows = [["relative error", "L2", "H1", *levels, "largest"]]
    axes = [fields[str(axis)] for axis in fields["coordinates"]]
    for name in known:
        found = measure_errors(fields[name], fields[f"reference {name}"], axes)
        values = [found.l2, found.h1, *found.percentiles.values(), found.largest]
        rows.append([name, *(_number(value) for value in values)])
    return rows


def polish_rows(run: RunRecord) -> list[list[str]]:
    """Rows of the steps of the linear stage below a row of headings, if it ran."""
    steps = run.result.get("polish", {}).get("steps", [])
    if not steps:
        return []
    stage = run.result["polish"]
    start = "trained network" if stage["step"] else "untrained network"
    rows = [
        [
            "step",
            "columns",
            "estimate before",
            "sampling error",
            "accepted",
            "error after",
        ]
    ]
    rows.append([start, "", "", "", "", _number_or_none(stage["start"].get("error"))])
    for number, step in enumerate(steps, start=1):
        measured = (step["estimate"], step["noise"])
        accepted = "yes" if step["is_accepted"] else "no"
        after = _number_or_none(step.get("error"))
        columns = f"{step['num_columns']:,}"
        rows.append([str(number), columns, *map(_number, measured), accepted, after])
    return rows


def _number_or_none(value: Any) -> str:
    return "" if value is None else _number(value)


def diagnosis_rows(run: RunRecord) -> Iterator[tuple[int, str, str]]:
    """The last diagnostics as depth, name and value."""
    known = [entry for entry in run.record if entry.get("snr") is not None]
    if not known:
        return
    last = known[-1]
    yield 0, "log entries", f"{len(known)}, last at step {last['step']}"
    for key, name in _DIAGNOSTICS.items():
        if last.get(key) is not None:
            yield 0, name, _number(last[key])
    for key, value in last.items():
        kind, _, of = key.partition(" ")
        if kind in _NAMED_DIAGNOSTICS and of and value is not None:
            yield 0, f"{_NAMED_DIAGNOSTICS[kind]} {of}", _number(value)


def _number(value: Any) -> str:
    return f"{float(np.asarray(value)):.3g}"
