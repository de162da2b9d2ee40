"""Published errors beside those of a reproduction."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ..compare import BASELINE, pair
from ._base import SCALES, Experiment, PaperItem
from .published import published_curves

_KEPT = ("settings", "problem", "programs", "measure", "floor", "runs")
_KEPT += ("sentences", "warnings", "failures")


def result_of(
    item: PaperItem, scale: str, contents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The rows of a table or figure, with the content of each `comparison.json` in
    `contents`, by the name of the experiment."""
    rows = [
        row for one in item.experiments for row in _rows(one, contents[one.name], scale)
    ]
    rows += [dataclasses.asdict(row) for row in item.cited]
    kept = {
        name: {key: content[key] for key in _KEPT if key in content}
        for name, content in contents.items()
    }
    differences = {
        one.title: list(one.differences) for one in item.experiments if one.differences
    }
    result = {"name": item.name, "title": item.title, "scale": scale, "rows": rows}
    return result | {"differences": differences, "comparisons": kept}


def _rows(
    experiment: Experiment, content: Mapping[str, Any], scale: str
) -> list[dict[str, Any]]:
    """One row per method, without errors if no run has ended. Published curves are of
    the scale `paper` only."""
    origin = experiment.same_curves_as or experiment.name
    curves = published_curves(origin) if scale == SCALES[0] else None
    spreads, floor = content.get("methods", {}), content.get("floor", 0.0)
    runs = content.get("runs", ())
    errors, last = (errors_of(experiment, runs, one) for one in ("selected", "last"))
    first = experiment.rows[0]
    has_fair = BASELINE in experiment.methods and first.method != BASELINE
    rows = []
    for one in experiment.rows:
        row = {
            "experiment": experiment.title,
            "comparison": experiment.name,
            "label": one.label,
            "method": one.method,
            "published": one.published,
            "revised": one.revised,
            "published_gain": _ratio(first.published, one.published),
            **_measured(spreads.get(one.method)),
            "gain": _gain(errors[first.method], errors[one.method], floor),
            "last_gain": _gain(last[first.method], last[one.method], floor),
            "seeds": sorted(errors[one.method]),
            "floor": floor,
        }
        if curves is not None and one.method in curves.methods:
            row["curve"] = curves.methods[one.method]
            row["curve_source"] = curves.source
        if has_fair:
            row["fair_gain"] = _gain(errors[BASELINE], errors[one.method], floor)
        rows.append(row)
    return rows


def errors_of(
    experiment: Experiment, runs: Iterable[Mapping[str, Any]], which: str
) -> dict[str, dict[int, float]]:
    """Errors by method and seed, of the iterate `selected` or `last`."""
    errors: dict[str, dict[int, float]] = {name: {} for name in experiment.methods}
    for run in runs:
        if run["method"] in errors:  # a stored comparison may have others
            errors[run["method"]][run["seed"]] = run["error"][which]
    return errors


def _measured(spreads: Mapping[str, Any] | None) -> dict[str, Any]:
    """Median, minimum and maximum over the seeds."""
    names = {"selected": "ours", "last": "last", "step": "steps", "seconds": "seconds"}
    return {name: spreads and spreads.get(key) for key, name in names.items()}


def _gain(
    baseline: Mapping[int, float], method: Mapping[int, float], floor: float
) -> float | None:
    """The median ratio of the baseline's error, paired by seed."""
    found = pair(baseline, method, floor)
    return None if found is None else found.median


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
