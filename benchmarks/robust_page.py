"""The page of problems that were not tuned on, made from `results/robust.json`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vrba.report import markdown_table

from .commit import commit_of
from .polish_page import bound, spread
from .robust_runs import (
    Groups,
    Runs,
    errors_text,
    grouped,
    median_error,
    middle_of,
    statuses,
)
from .robust_sets import MAY_REPORT_FAILURE, Kind, sets
from .robust_tables import ablation_table, cost_table, shipped_table

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "robust.json", ROOT / "docs" / "robust.md"
EARLIER = ROOT / "results" / "polish.json"
SOLVED = "solved"
LARGE = 1e-2  # an error that makes a run a failure

HEAD = """# Problems that the package was not tuned on

Written by `python -m benchmarks.robust`, never by hand. Every run is
`vrba solve FILE --minutes M --seed S` with the default recipe on one core. The time
counts compilation, and every run has its own process. Errors are relative L2 errors
against the problem's reference. An error below three times that of the reference is
given as a bound. With several seeds the tables give the median [minimum, maximum].
`before` is the error before the linear stage, `status` is what the program reports, and
`s` is the median time. `parts` counts time slabs and continuation levels.
"""
HARD = """
## Hard problems

Each problem has a target for two minutes. A target is met if the median meets it.

"""
NEW = """
## Ten new problems

One problem of each kind, written before any run. A run fails if its error is above 1 %.
A failure is silent if the program reports `solved`.

"""
SHIPPED = """
## Problems of the package

`earlier` is the state before exact conditions, balance and continuation
([the linear stage, measured](polish.md)). `ratio` is the new median divided by the
earlier one. A problem is worse if its lowest new error exceeds the highest earlier one.
With one seed on either side, it must exceed it by the typical range over seeds, too.

"""
PINNACLE = """
## Problems of PINNacle

The problems of Hao et al. (2023), with references of our own. Their coefficients of
random fields are data files. Ours are fixed random functions of the same kind.

"""
ABLATION = """
## Each mechanism left out

The error with each flag, with the same seed. Numbers in brackets are the error divided
by that of the default.

"""
COST = """
## Cost

`start` is the time until the first step, with compilation. `without` has neither
balance nor exact conditions. The share is the difference of the starts, of the whole
time. Targets: a share of at most 3 %, 10 % with the race of both forms; a step of at
most 1.15 times the time.

"""


def write_page() -> None:
    """Write the page from the kept results."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """All tables."""
    runs = list(json.loads(RESULTS.read_text(encoding="utf-8")).values())
    earlier = list(json.loads(EARLIER.read_text(encoding="utf-8")).values())
    parts = [HEAD]
    for name, head in (("hard", HARD), ("new", NEW), ("pinnacle", PINNACLE)):
        groups = grouped(sets()[name], runs)
        parts += section(head, groups, errors_table) + [reports(groups)]
    groups = grouped(sets()["shipped"], runs)
    compare = lambda given: shipped_table(given, earlier)
    parts += section(SHIPPED, groups, compare)
    for name, head, table in (
        ("ablation", ABLATION, ablation_table),
        ("cost", COST, cost_table),
    ):
        parts += section(head, grouped(sets()[name], runs), table)
    programs = sorted({commit_of(run["program"]) for run in runs if "program" in run})
    parts += [f"\nMade by {', '.join(programs)}.\n"] if programs else []
    return "".join(parts)


def section(head: str, groups: Groups, table: Callable[[Groups], str]) -> list[str]:
    """A heading with its table, or with a sentence if nothing was run."""
    return [head, table(groups) if groups else "No run is stored yet.\n"]


def errors_table(groups: Groups) -> str:
    """Targets beside errors, and what the program reports."""
    rows = [["problem", "flags", "min", "seeds", "target", "error", "before"]]
    rows[0] += ["estimated", "status", "result", "parts", "steps", "s"]
    for kind, runs in groups:
        ended = [run for run in runs if "error" in run]
        middle = lambda key, ended=ended: middle_of(run[key] for run in ended)
        estimates = [(run["estimated_error"], "") for run in ended]
        known = [pair for pair in estimates if pair[0] is not None]
        rows.append(
            [
                kind.problem,
                " ".join(kind.flags),
                f"{kind.minutes:g}",
                str(len(runs)),
                "" if kind.target is None else f"{kind.target:.1e}",
                errors_text(runs, "error"),
                errors_text(runs, "trained_error"),
                spread(known),
                statuses(runs),
                verdict(kind, runs),
                ", ".join(sorted({parts_text(run) for run in ended} - {""})),
                middle("step"),
                middle("seconds"),
            ]
        )
    return markdown_table(rows)


def verdict(kind: Kind, runs: Runs) -> str:
    """Whether the target is met, and whether a failure is reported."""
    error = median_error(runs)
    if error is not None and kind.target is not None and error <= kind.target:
        return "met"
    if error is not None and kind.target is None and error <= LARGE:
        return "solved"
    is_reported = all(reports_failure(run) for run in runs if fails(kind, run))
    failure = "failed, reported" if is_reported else "**failed silently**"
    if kind.target is None:
        return failure
    if kind.problem in MAY_REPORT_FAILURE:
        return f"{failure} (allowed)" if is_reported else failure
    return f"**missed**, {failure}" if fails_any(kind, runs) else "**missed**"


def fails(kind: Kind, run: Mapping[str, Any]) -> bool:
    """Whether the program should report a failure."""
    limit = LARGE
    if kind.problem in MAY_REPORT_FAILURE and kind.target is not None:
        limit = kind.target
    return run.get("error") is None or bound(run, run["error"])[0] > limit


def fails_any(kind: Kind, runs: Runs) -> bool:
    """Whether some run fails."""
    return any(fails(kind, run) for run in runs)


def reports_failure(run: Mapping[str, Any]) -> bool:
    """Whether the program itself says that a run is no solution."""
    return "failure" in run or run["status"] not in (None, SOLVED)


def parts_text(run: Mapping[str, Any]) -> str:
    """How many slabs and continuation levels a run has."""
    each = [(name, num_of(part)) for name, part in run["parts"].items()]
    return ", ".join(f"{name} {count}" for name, count in each if count)


def num_of(part: Any) -> int:
    """The number of slabs or levels of a part of a result."""
    if isinstance(part, Mapping):
        lists = [value for value in part.values() if isinstance(value, list)]
        return max(map(len, lists), default=0)
    return len(part) if isinstance(part, list) else 0


def reports(groups: Groups) -> str:
    """What the program says of runs that it does not report as solved."""
    lines = []
    for kind, runs in groups:
        flags = "".join(f" {flag}" for flag in kind.flags)
        for run in runs:
            words = run.get("failure") or run["sentence"]
            if reports_failure(run):
                text = " ".join(words.split())
                lines.append(f"- `{kind.problem}`{flags}, seed {run['seed']}: {text}")
    if not lines:
        return ""
    return "\nReported by the program:\n\n" + "\n".join(lines) + "\n"
