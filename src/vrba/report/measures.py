"""Errors and diagnostics of a run as rows of a table."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..diagnose import PERCENTILES, measure_errors
from .run import RunRecord

_LAST = {
    "effective_share": "effective share of the pool",
    "entropy": "entropy of the weights (1: even)",
    "kl": "Kullback-Leibler distance of the tilt from its base",
    "duality_gap": "duality gap, in mean residuals",
    "snr": "signal-to-noise ratio of the gradient",
    "snr_unit": "the same with gradients of unit length",
    "snr_floor": "the same of pure noise",
    "estimator_plain": "variance of a term of the plain mean",
    "estimator_weighted": "variance of a term of the weighted mean",
    "geometric_complexity": "mean squared slope of the solution",
    "rounding_l2": "residual that rounding alone makes",
}
_OF_EACH = {
    "wasserstein": "distance that points moved along",
    "gradient": "length of the gradient of",
    "alignment": "cosine of the equations' gradient with that of",
}


_OF_FUNCTIONS = {
    "selected": "mean",
    "p50": "50 % below",
    "p95": "95 % below",
    "p99": "99 % below",
    "max": "largest",
}


def error_rows(run: RunRecord) -> list[list[str]]:
    """Errors below a heading: of an operator over functions, else of each field that
    has a reference in several norms; nothing if none are known."""
    return _function_rows(run) if run.is_operator else _field_rows(run)


def _function_rows(run: RunRecord) -> list[list[str]]:
    """Of both iterates on the test set, and on the set that one was selected by."""
    result = run.result
    errors = result.get("errors")
    if not errors:
        return []
    rest = [""] * (len(_OF_FUNCTIONS) - 1)
    rows = [["relative L2 error of functions", *_OF_FUNCTIONS.values()]]
    rows.append(["test set, selected", *(_number(errors[k]) for k in _OF_FUNCTIONS)])
    rows.append(["test set, last", _number(errors["last"]), *rest])
    if "train" in errors:
        rows.append(["training set, selected", _number(errors["train"]), *rest])
    scores = {"selected": result.get("score"), "last": result.get("last_score")}
    for which, score in scores.items():
        if score is not None:
            rows.append([f"validation set, {which}", _number(score), *rest])
    return rows


def _field_rows(run: RunRecord) -> list[list[str]]:
    """In several norms, of each field that has a reference."""
    fields = run.fields or {}
    names = [str(name) for name in fields.get("fields", ())]
    known = [name for name in names if f"reference {name}" in fields]
    if not known:
        return []
    levels = [f"{share} % below" for share in PERCENTILES]
    rows = [["relative error", "L2", "H1", *levels, "largest"]]
    axes = [fields[str(axis)] for axis in fields["coordinates"]]
    for name in known:
        found = measure_errors(fields[name], fields[f"reference {name}"], axes)
        values = [found.l2, found.h1, *found.percentiles.values(), found.largest]
        rows.append([name, *(_number(value) for value in values)])
    return rows


def diagnosis_rows(run: RunRecord) -> Iterator[tuple[int, str, str]]:
    """What was measured last, in words."""
    known = [entry for entry in run.record if entry.get("snr") is not None]
    if not known:
        return
    last = known[-1]
    yield 0, "measured", f"{len(known)} times, last at step {last['step']}"
    for key, name in _LAST.items():
        if last.get(key) is not None:
            yield 0, name, _number(last[key])
    for key, value in last.items():
        kind, _, of = key.partition(" ")
        if kind in _OF_EACH and of and value is not None:
            yield 0, f"{_OF_EACH[kind]} {of}", _number(value)


def _number(value: Any) -> str:
    return f"{float(np.asarray(value)):.3g}"
