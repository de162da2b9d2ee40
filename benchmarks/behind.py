"""Where the results of this package are behind, and what was not run."""

import math
import statistics
from typing import Any

from vrba.cli import paper
from vrba.cli.arms import BASELINE
from vrba.cli.paper import SCALES
from vrba.report import format_number

from . import shelf
from .peers.figure import panels_of
from .peers.groups import grouped
from .peers.page import medians, missed
from .peers.results import read_results

TWIN = "-uniform"  # how the arm of the same name with even points ends
AT_AN_INSTANT = 2.0  # what errors go up and down by
EVEN = (BASELINE, "uniform-as-published", "default:linear")  # no tilt to be behind
EXPERIMENTS = {
    one.name: one
    for exhibit in vars(paper).values()
    if isinstance(exhibit, paper.Exhibit)
    for one in exhibit.experiments
}


def behind(results: list[dict[str, Any]]) -> str:
    """Where a tilt is no better than the fair baseline or RAD, has no finite error, or
    exceeds what was published at the published scale, also by others on the same
    problem; where even points are better on the shelf or beside peers; where peers are
    near; and what was not run."""
    lines = [line for result in results for line in lagging(result)]
    lines += lagging_on_shelf() + lagging_beside_peers()
    told = "".join(f"- {line}\n" for line in dict.fromkeys(lines))
    none = "Nowhere, in what was run.\n"
    text = f"## Where we are behind\n\n{told or none}\n"
    if near := "".join(f"- {line}\n" for line in near_peers()):
        head = "Less than ten times ahead of the best [other package](peers.md)"
        text += f"## {head}\n\n{near}\n"
    left = "".join(f"- {line}\n" for line in not_run(results))
    return text + (f"## What was not run\n\n{left}\n" if left else "")


def lagging(result: dict[str, Any]) -> list[str]:
    """Of one exhibit, a line for each row that is."""
    lines = []
    for row in result["rows"]:
        if row.get("ours") is None or row["word"] in EVEN:
            continue
        if reasons := behind_what(row, result):
            count = len(row.get("seeds", ()))
            seeds = "one seed" if count == 1 else f"{count} seeds"
            where = f"{row['experiment']}, {row['label']} ({result['scale']}, {seeds})"
            lines.append(f"{where}: {'; '.join(reasons)}.")
    return lines


def behind_what(row: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """What a row is behind, and how far."""
    error = row["ours"]["median"]
    if error is None:
        return ["the error is not finite"]
    found = []
    gain = row.get("fair_gain", row["gain"])
    if gain is not None and gain < 1:
        told = f"{1 / gain:.2g} times" if gain else "infinitely many times"
        found.append(f"{told} the error of the fair baseline")
    same = [one for one in result["rows"] if one["experiment"] == row["experiment"]]
    for rival in [one for one in same if one.get("word") == "rad"]:
        factor = error / ((rival.get("ours") or row["ours"])["median"] or math.inf)
        if factor > shelf.CLEARLY:
            found.append(f"{factor:.2g} times the error of RAD")
    return found + (above_published(row, result) if result["scale"] == "paper" else [])


def above_published(row: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """Of a row at the published scale: the selected iterate above what was published,
    then or in a later revision, or else the last one above what was published then. A
    row that was not published is held against the best of its problem."""
    ours, last = row["ours"]["median"], (row.get("last") or {}).get("median")
    if row["published"] is None:
        same = [one for one in result["rows"] if problem_of(one) == problem_of(row)]
        known = [one.get(key) for one in same for key in ("published", "revised")]
        best = min((error for error in known if error is not None), default=None)
        return told_above(ours, f"the best published of {problem_of(row)}", best)
    first = "what was published"
    found = told_above(ours, first, row["published"])
    if not found and last:
        told = told_above(last, first, row["published"])
        found = [f"by its last iterate {one}" for one in told]
    later = "what a later revision of the paper has"
    return found + told_above(ours, later, row.get("revised"))


def told_above(error: float, what: str, known: float | None) -> list[str]:
    """That an error exceeds one that is known, if it does."""
    if known is None or error <= known:
        return []
    return [f"{error / known:.2g} times {what} ({format_number(known)})"]


def lagging_on_shelf() -> list[str]:
    """Problems where even points have the lower error in the middle of seeds."""
    lines = []
    for name, one in shelf.read_results().items():
        found = shelf.factors(one, "selected")
        if len(found) >= shelf.ENOUGH_SEEDS:
            ratio = 1 / statistics.median(found)
            if ratio > shelf.CLEARLY:
                told = f"{ratio:.2g} times the error of evenly drawn points"
                told += ", but seeds disagree" if max(found) > 1 else ""
                told += f" ({' '.join(one['warnings'])})" if one["warnings"] else ""
                lines.append(f"`{name}` on [the shelf](shelf.md): {told}.")
    return lines


def lagging_beside_peers() -> list[str]:
    """Arms that are run beside peers and are clearly above their twin with even points
    in the end."""
    lines = []
    groups = grouped(read_results())
    for title, key in panels_of(groups).items():
        errors = medians(groups[key], "error_at_end")
        for arm, error in errors.items():
            ratio = error / errors.get(f"{arm}{TWIN}", math.inf)
            if ratio > AT_AN_INSTANT:
                where = f"`{arm}` [beside other packages](peers.md)"
                told = f"{ratio:.2g} times the error of evenly drawn points"
                lines.append(f"{where} ({title}, {key.minutes:g} minutes): {told}.")
    return lines


def near_peers() -> list[str]:
    """Where an arm of vrba is not ten times below the best peer."""
    groups = grouped(read_results())
    return [
        f"{title}: {line}"
        for title, key in panels_of(groups).items()
        for line in missed(groups[key])
    ]


def not_run(results: list[dict[str, Any]]) -> list[str]:
    """Experiments without a result at a scale, and rows of those that have some."""
    lines = []
    for scale in SCALES[:-1]:
        rows = [row for one in results if one["scale"] == scale for row in one["rows"]]
        done = {(row.get("comparison"), row["word"]) for row in rows if row.get("ours")}
        for name, experiment in EXPERIMENTS.items():
            missing = [a.label for a in experiment.arms if (name, a.word) not in done]
            if len(missing) == len(experiment.arms):
                lines.append(f"{experiment.title} ({scale}).")
            elif missing:
                lines.append(f"{experiment.title} ({scale}): {', '.join(missing)}.")
    return lines


def problem_of(row: dict[str, Any]) -> str:
    """`Burgers` of `Burgers, self-scaled Broyden, sampling`."""
    return row["experiment"].split(",")[0]
