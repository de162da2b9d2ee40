"""Results in which this package is worse than a baseline, and what was not run."""

import math
import statistics
from typing import Any

from vrba.compare import BASELINE
from vrba.paper import SCALES, known_experiments
from vrba.report import format_number

from . import shelf
from .peers.figure import panels_of
from .peers.groups import grouped
from .peers.page import medians, missed
from .peers.results import read_results

UNIFORM = "-uniform"  # suffix of the arm with the same settings, uniform sampling
FLUCTUATION = 2.0  # factor by which errors rise and fall during training
NOT_ADAPTIVE = (BASELINE, "uniform-as-published", "default:linear")


def shortcomings(results: list[dict[str, Any]]) -> str:
    """As Markdown: where adaptivity is no better than uniform sampling or RAD, not
    finite, or above published errors at the published scale; where other packages are
    close; and what was not run."""
    lines = [line for result in results for line in worse_rows(result)]
    lines += worse_on_shelf() + worse_beside_peers()
    listed = "".join(f"- {line}\n" for line in dict.fromkeys(lines))
    text = f"## Where we are worse\n\n{listed or 'Nowhere, in what was run.'}\n"
    text += "" if listed else "\n"
    if near := "".join(f"- {line}\n" for line in near_peers()):
        head = "Less than ten times ahead of the best [other package](peers.md)"
        text += f"## {head}\n\n{near}\n"
    left = "".join(f"- {line}\n" for line in not_run(results))
    return text + (f"## What was not run\n\n{left}\n" if left else "")


def worse_rows(result: dict[str, Any]) -> list[str]:
    """A line for each row of a table or figure that is worse."""
    lines = []
    for row in result["rows"]:
        if row.get("ours") is None or row["method"] in NOT_ADAPTIVE:
            continue
        if reasons := worse_than(row, result):
            count = len(row.get("seeds", ()))
            seeds = "one seed" if count == 1 else f"{count} seeds"
            where = f"{row['experiment']}, {row['label']} ({result['scale']}, {seeds})"
            lines.append(f"{where}: {'; '.join(reasons)}.")
    return lines


def worse_than(row: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """What a row is worse than, and by which factor."""
    error = row["ours"]["median"]
    if error is None:
        return ["the error is not finite"]
    found = []
    gain = row.get("fair_gain", row["gain"])
    if gain is not None and gain < 1:
        factor = f"{1 / gain:.2g} times" if gain else "infinitely many times"
        found.append(f"{factor} the error of the fair baseline")
    same = [one for one in result["rows"] if one["experiment"] == row["experiment"]]
    for rival in [one for one in same if one.get("method") == "rad"]:
        factor = error / ((rival.get("ours") or row["ours"])["median"] or math.inf)
        if factor > shelf.CLEARLY:
            found.append(f"{factor:.2g} times the error of RAD")
    return found + (above_published(row, result) if result["scale"] == "paper" else [])


def above_published(row: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """At the published scale: whether the selected iterate is above the published
    error, or else the last one; and above that of the later revision. A row without
    published error is compared with the best one of its problem."""
    ours, last = row["ours"]["median"], (row.get("last") or {}).get("median")
    if row["published"] is None:
        same = [one for one in result["rows"] if problem_of(one) == problem_of(row)]
        known = [one.get(key) for one in same for key in ("published", "revised")]
        best = min((error for error in known if error is not None), default=None)
        return factor_above(ours, f"the best published of {problem_of(row)}", best)
    first = "the published error"
    found = factor_above(ours, first, row["published"])
    if not found and last:
        above = factor_above(last, first, row["published"])
        found = [f"with the last iterate {one}" for one in above]
    later = "that of a later revision of the paper"
    return found + factor_above(ours, later, row.get("revised"))


def factor_above(error: float, what: str, known: float | None) -> list[str]:
    """By which factor an error exceeds a known one, if it does."""
    if known is None or error <= known:
        return []
    return [f"{error / known:.2g} times {what} ({format_number(known)})"]


def worse_on_shelf() -> list[str]:
    """Problems where uniform sampling has the lower median error."""
    lines = []
    for name, one in shelf.read_results().items():
        found = shelf.factors(one, "selected")
        if len(found) >= shelf.ENOUGH_SEEDS:
            ratio = 1 / statistics.median(found)
            if ratio > shelf.CLEARLY:
                text = f"{ratio:.2g} times the error of uniform sampling"
                text += ", but seeds disagree" if max(found) > 1 else ""
                text += f" ({' '.join(one['warnings'])})" if one["warnings"] else ""
                lines.append(f"`{name}` on [the shelf](shelf.md): {text}.")
    return lines


def worse_beside_peers() -> list[str]:
    """Arms of the comparison with other packages that end clearly above uniform
    sampling."""
    lines = []
    groups = grouped(read_results())
    for title, key in panels_of(groups).items():
        errors = medians(groups[key], "error_at_end")
        for arm, error in errors.items():
            ratio = error / errors.get(f"{arm}{UNIFORM}", math.inf)
            if ratio > FLUCTUATION:
                where = f"`{arm}` [beside other packages](peers.md)"
                text = f"{ratio:.2g} times the error of uniform sampling"
                lines.append(f"{where} ({title}, {key.minutes:g} minutes): {text}.")
    return lines


def near_peers() -> list[str]:
    """Problems where vrba is not ten times below the best other package."""
    groups = grouped(read_results())
    return [
        f"{title}: {line}"
        for title, key in panels_of(groups).items()
        for line in missed(groups[key])
    ]


def not_run(results: list[dict[str, Any]]) -> list[str]:
    """Experiments, and rows of experiments, without a result at a scale."""
    lines = []
    for scale in SCALES[:-1]:
        rows = [row for one in results if one["scale"] == scale for row in one["rows"]]
        done = {
            (row.get("comparison"), row["method"]) for row in rows if row.get("ours")
        }
        for name, experiment in known_experiments().items():
            missing = [r.label for r in experiment.rows if (name, r.method) not in done]
            if len(missing) == len(experiment.rows):
                lines.append(f"{experiment.title} ({scale}).")
            elif missing:
                lines.append(f"{experiment.title} ({scale}): {', '.join(missing)}.")
    return lines


def problem_of(row: dict[str, Any]) -> str:
    """`Burgers` of `Burgers, self-scaled Broyden, sampling`."""
    return row["experiment"].split(",")[0]
