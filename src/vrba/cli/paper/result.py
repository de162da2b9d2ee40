"""What was published beside what has come of it here."""

from collections.abc import Mapping
from typing import Any

from ._base import Arm, Exhibit, Experiment

_FAIR = "uniform"
_KEPT = ("settings", "problem", "programs", "measure", "floor", "runs")
_TOLD = ("sentences", "warnings", "failures")


def result_of(
    exhibit: Exhibit, scale: str, contents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Rows, what differs, and the comparisons they are from: `contents` are those of
    their `comparison.json`, by the name of the experiment."""
    rows = [
        row for one in exhibit.experiments for row in _rows(one, contents[one.name])
    ]
    rows += [
        {"experiment": row.experiment, "label": row.label, "published": row.published}
        for row in exhibit.cited
    ]
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


def _rows(experiment: Experiment, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One for each arm; what has not ended has no error."""
    found = content.get("arms", {})
    first = experiment.arms[0]
    rows = []
    for arm in experiment.arms:
        row = {
            "experiment": experiment.title,
            "label": arm.label,
            "word": arm.word,
            "published": arm.published,
            "published_gain": _ratio(first.published, arm.published),
            **_measured(found.get(arm.word)),
            "gain": _ratio(_median(found, first), _median(found, arm)),
        }
        fair = [other for other in experiment.arms if other.word == _FAIR]
        if fair and fair[0] != first:
            row["fair_gain"] = _ratio(_median(found, fair[0]), _median(found, arm))
        row["to_published"] = _ratio(_median(found, arm), arm.published)
        seeds = [
            run["seed"] for run in content.get("runs", ()) if run["arm"] == arm.word
        ]
        rows.append(row | {"seeds": seeds, "floor": content.get("floor", 0.0)})
    return rows


def _measured(arm: Mapping[str, Any] | None) -> dict[str, Any]:
    """Median, lowest and highest over the seeds."""
    names = {"selected": "ours", "last": "last", "step": "steps", "seconds": "seconds"}
    return {name: arm and arm.get(key) for key, name in names.items()}


def _median(found: Mapping[str, Any], arm: Arm) -> float | None:
    return found[arm.word]["selected"]["median"] if arm.word in found else None


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
