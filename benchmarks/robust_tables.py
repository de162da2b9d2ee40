"""Tables of `benchmarks.robust` that compare runs with others."""

import statistics
from collections.abc import Mapping
from typing import Any

from vrba.report import markdown_table

from .polish_page import bound
from .robust_runs import Groups, Runs, errors_text, median_error, middle_of, statuses
from .robust_sets import DEFAULT, WITHOUT_BOTH, Kind, sets


def shipped_table(groups: Groups, earlier: Runs) -> str:
    """Errors beside those of an earlier state."""
    room = typical_range(earlier)
    rows = [["problem", "seeds", "earlier", "error", "ratio", "result", "status", "s"]]
    for kind, runs in groups:
        before = earlier_of(kind, earlier)
        new, old = median_error(runs), median_error(before)
        ratio = "" if new is None or old is None else f"{new / old:.2g}"
        ended = [run for run in runs if "error" in run]
        rows.append(
            [
                kind.problem,
                f"{len(before)}, {len(runs)}",
                errors_text(before, "error"),
                errors_text(runs, "error"),
                ratio,
                comparison(before, runs, room),
                statuses(runs),
                middle_of(run["seconds"] for run in ended),
            ]
        )
    return markdown_table(rows) + (
        f"\nThe typical range over seeds is {room:.2g}: the median, over problems with "
        "three seeds, of the largest earlier error divided by the smallest.\n"
    )


def earlier_of(kind: Kind, earlier: Runs) -> Runs:
    """The runs of the same problem and time before."""
    wanted = (kind.problem, "polished", kind.minutes)
    keys = ("problem", "variant", "minutes")
    return [run for run in earlier if tuple(run[key] for key in keys) == wanted]


def typical_range(earlier: Runs) -> float:
    """The median ratio of the largest to the smallest error over three seeds."""
    ratios = []
    for name in {run["problem"] for run in earlier}:
        runs = earlier_of(Kind(name), earlier)
        if len(runs) >= 3:
            errors = [bound(run, run["error"])[0] for run in runs]
            ratios.append(max(errors) / min(errors))
    return statistics.median(ratios) if ratios else 1.0


def comparison(before: Runs, runs: Runs, room: float) -> str:
    """Whether new errors are beyond the range of the earlier ones."""
    if any("error" not in run for run in runs):
        return "**no result**"
    if not before:
        return "no earlier run"
    old, new = (
        [bound(run, run["error"])[0] for run in group] for group in (before, runs)
    )
    if min(len(old), len(new)) > 1:
        room = 1.0
    if min(new) > room * max(old):
        return "**worse**"
    return "better" if room * max(new) < min(old) else "alike"


def ablation_table(groups: Groups) -> str:
    """A row for each problem, a column for each flag; the first seed of each."""
    found = {(kind.problem, kind.variant): runs[0] for kind, runs in groups}
    variants = list(dict.fromkeys(kind.variant for kind in sets()["ablation"]))
    titles = [one if one == DEFAULT else f"`--{one}`" for one in variants]
    rows = [["problem", *titles]]
    for problem in dict.fromkeys(kind.problem for kind, _ in groups):
        usual = found.get((problem, DEFAULT), {})
        cells = [
            ablation_cell(found.get((problem, one)), usual, one) for one in variants
        ]
        rows.append([problem, *cells])
    return markdown_table(rows)


def ablation_cell(
    run: Mapping[str, Any] | None, usual: Mapping[str, Any], variant: str
) -> str:
    """One error, and its ratio to that of the default."""
    if run is None:
        return ""
    if "error" not in run:
        return "no result"
    value, sign = bound(run, run["error"])
    text = f"{sign}{value:.1e}"
    if variant == DEFAULT or "error" not in usual:
        return text
    return f"{text} ({value / bound(usual, usual['error'])[0]:.2g})"


def cost_table(groups: Groups) -> str:
    """Times of the default and without balance and exact conditions, over all seeds."""
    rows = [["problem", "seeds", "start, s", "without, s", "share of the time"]]
    rows[0] += ["step, ms", "without, ms", "ratio"]
    found = {(kind.problem, kind.variant): (kind, runs) for kind, runs in groups}
    for (problem, variant), (kind, runs) in found.items():
        other = found.get((problem, WITHOUT_BOTH))
        if variant != DEFAULT or other is None:
            continue
        starts = [median_of(part, "start_seconds") for part in (runs, other[1])]
        steps = [median_of(part, "step_seconds") for part in (runs, other[1])]
        if None in starts:
            continue
        share = (starts[0] - starts[1]) / (60 * kind.minutes)
        rows.append(
            [problem, str(len(runs)), *(f"{value:.1f}" for value in starts)]
            + [f"{100 * share:.1f} %", *(f"{1000 * value:.0f}" for value in steps)]
            + [f"{steps[0] / steps[1]:.2f}"]
        )
    return markdown_table(rows)


def median_of(runs: Runs, key: str) -> Any:
    """The median of a measured time, none if no run has it."""
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None
