"""What was published beside what has come of it here."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ...report import pair
from ..arms import BASELINE
from ._base import SCALES, Exhibit, Experiment
from .published import published_curves

_KEPT = ("settings", "problem", "programs", "measure", "floor", "runs")
_TOLD = ("sentences", "warnings", "failures")


def result_of(
    exhibit: Exhibit, scale: str, contents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Rows, what differs, and the comparisons they are from: `contents` are those of
    their `comparison.json`, by the name of the experiment."""
    rows = [
        row
        for one in exhibit.experiments
        for row in _rows(one, contents[one.name], scale)
    ]
    rows += [dataclasses.asdict(row) for row in exhibit.cited]
    kept = {
        name: {key: content[key] for key in (*_KEPT, *_TOLD) if key in content}
        for name, content in contents.items()
    }
    return {
        "name": exhibit.name,
        "title": exhibit.title,
        "scale": scale,
        "rows": rows,
        "differences": {
            one.title: list(one.differences)
            for one in exhibit.experiments
            if one.differences
        },
        "comparisons": kept,
    }


def _rows(
    experiment: Experiment, content: Mapping[str, Any], scale: str
) -> list[dict[str, Any]]:
    """One for each arm; what has not ended has no error. Steps of another scale are not
    those of a published curve."""
    origin = experiment.like or experiment.name
    curves = published_curves(origin) if scale == SCALES[0] else None
    found, floor = content.get("arms", {}), content.get("floor", 0.0)
    runs = content.get("runs", ())
    errors, last = (errors_of(experiment, runs, one) for one in ("selected", "last"))
    first = experiment.arms[0]
    fair = [arm for arm in experiment.arms if arm.word == BASELINE and arm != first]
    rows = []
    for arm in experiment.arms:
        row = {
            "experiment": experiment.title,
            "comparison": experiment.name,
            "label": arm.label,
            "word": arm.word,
            "published": arm.published,
            "revised": arm.revised,
            "published_gain": _ratio(first.published, arm.published),
            **_measured(found.get(arm.word)),
            "gain": _gain(errors[first.word], errors[arm.word], floor),
            "last_gain": _gain(last[first.word], last[arm.word], floor),
            "seeds": sorted(errors[arm.word]),
            "floor": floor,
        }
        if curves is not None and arm.word in curves.arms:
            row["curve"], row["curve_source"] = curves.arms[arm.word], curves.source
        if fair:
            row["fair_gain"] = _gain(errors[fair[0].word], errors[arm.word], floor)
        rows.append(row)
    return rows


def errors_of(
    experiment: Experiment, runs: Iterable[Mapping[str, Any]], which: str
) -> dict[str, dict[int, float]]:
    """By arm and seed, of the iterate `selected` or `last`."""
    errors: dict[str, dict[int, float]] = {arm.word: {} for arm in experiment.arms}
    for run in runs:
        if run["arm"] in errors:  # an older folder may have others
            errors[run["arm"]][run["seed"]] = run["error"][which]
    return errors


def _measured(arm: Mapping[str, Any] | None) -> dict[str, Any]:
    """Median, lowest and highest over the seeds."""
    names = {"selected": "ours", "last": "last", "step": "steps", "seconds": "seconds"}
    return {name: arm and arm.get(key) for key, name in names.items()}


def _gain(
    baseline: Mapping[int, float], arm: Mapping[int, float], floor: float
) -> float | None:
    """The median of the ratios for the same seed."""
    found = pair(baseline, arm, floor)
    return None if found is None else found.median


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
