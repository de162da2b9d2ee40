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


def error_rows(run: RunRecord) -> list[list[str]]:
    """Errors of each field that has a reference, in several norms, below a heading;
    nothing if none has."""
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
