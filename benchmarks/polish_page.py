"""The page of the linear stage, made from `results/polish.json`."""

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vrba.report import markdown_table

from . import polish_cost
from .commit import commit_of

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "polish.json", ROOT / "docs" / "polish.md"
HEAD = """# The linear stage, measured

Written by `python -m benchmarks.polish`, never by hand: [the stage](linear-stage.md)
on every problem of the package, and on Kovasznay's flow. Every run has one core, counts
compilation, and has its own process.
Errors are relative L2 errors against the problem's reference; an error below three
times that of the reference is given as a bound. With several seeds the tables give the
median [minimum, maximum], of two seeds the lower one.

## With and without the stage

`before` is the trained network when the stage begins, at half of the time; `polished`
is the end of the run. `trained` is training for the whole time (`--no-polish`), where
it was run. `s` is the time of the polished run, which ends early if another step would
not fit or not help.

"""
DRAWS = """
## Adaptive and uniform draws

The stage begins at the same checkpoint and makes as many steps with as many columns,
with the default draws and with uniform draws. A step that is not expected to halve the
error is not accepted. With uniform draws the estimates are often too noisy to accept
any step, which is part of a large gain. `best uniform` is the lowest error of any step
of the uniform stage against the reference, accepted or not: no rule is better. The gain
is the error with uniform draws divided by that with the default draws. The gain in the
residual compares the root mean square residuals of the equations after the last step.
Both are measured on the same 8,192 uniform points, which no step uses.

"""
RATIOS = """
## Estimated and true error

The estimated relative error at the end of a run, divided by the true one. Errors that
the reference bounds are left out.

"""
COST = """
## Time and memory

`python -m benchmarks.polish_cost --keep` on one core. A step with `N` rows and `K`
columns factorises `2 N K^2` operations. `QR / J'J` is the time of the factorisation
divided by that of the normal equations. Memory is the peak of a round of points in
matrices of `K^2` numbers; `shared` is the peak with measured values.

"""


def write_page() -> None:
    """Write the page from the kept results."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """All tables."""
    runs = list(json.loads(RESULTS.read_text(encoding="utf-8")).values())
    parts = [HEAD, errors_table(runs), DRAWS, draws_table(runs), RATIOS]
    parts += [ratio_table(runs), ratio_sentence(runs), COST, cost_table()]
    return "".join([*parts, programs(runs)])


def summary() -> str:
    """A short table for the README: problems with the most seeds, at two minutes."""
    runs = list(json.loads(RESULTS.read_text(encoding="utf-8")).values())
    rows = [["problem", "seeds", "trained network", "after the linear stage"]]
    groups = [(name, group) for (name, m), group in grouped(runs, "polished") if m == 2]
    most = max(len(group) for _, group in groups)
    for name, group in groups:
        if len(group) < most:
            continue
        before = spread([bound(run, run["trained_error"]) for run in group])
        after = spread([bound(run, run["error"]) for run in group])
        rows.append([name, str(len(group)), before, after])
    return (
        "\n**[The linear stage](docs/polish.md)**: `vrba solve NAME --minutes 2` on "
        "one core, with compilation; median [minimum, maximum] over seeds. The "
        "trained network is that at half of the time.\n\n" + markdown_table(rows)
    )


def errors_table(runs: list[Any]) -> str:
    """Errors before, after and without the stage."""
    rows = [["problem", "min", "seeds", "trained", "before", "polished", "steps", "s"]]
    for (name, minutes), group in grouped(runs, "polished"):
        other = select(runs, name, minutes, "trained")
        seconds = statistics.median(run["seconds"] for run in group)
        steps = [len([s for s in run["steps"] if s["is_accepted"]]) for run in group]
        rows.append(
            [
                name,
                f"{minutes:g}",
                str(len(group)),
                spread([bound(run, run["error"]) for run in other]),
                spread([bound(run, run["trained_error"]) for run in group]),
                spread([bound(run, run["error"]) for run in group]),
                f"{statistics.median(steps):g}",
                f"{seconds:.0f}",
            ]
        )
    return markdown_table(rows)


def draws_table(runs: list[Any]) -> str:
    """The default draws beside uniform draws."""
    rows = [
        ["problem", "min", "seeds", "default", "uniform", "best uniform", "gain"]
        + ["gain in the residual"]
    ]
    for (name, minutes), group in grouped(runs, "uniform"):
        pairs = [(own, one) for one in group if (own := paired(runs, one))]
        gains = [
            bound(own, one["error"])[0] / bound(own, own["error"])[0]
            for own, one in pairs
        ]
        held_out = [
            one["steps"][-1]["residual"] / one["default_residual"] for _, one in pairs
        ]
        best = [min(step["taken_error"] for step in one["steps"]) for _, one in pairs]
        rows.append(
            [
                name,
                f"{minutes:g}",
                str(len(pairs)),
                spread([bound(own, own["error"]) for own, _ in pairs]),
                spread([bound(own, one["error"]) for own, one in pairs]),
                spread([(value, "") for value in best]),
                f"{statistics.median(gains):.3g}",
                f"{statistics.median(held_out):.3g}",
            ]
        )
    return markdown_table(rows)


def ratio_table(runs: list[Any]) -> str:
    """Estimated divided by true error."""
    rows = [["problem", "min", "seed", "estimated", "true", "ratio", "reliable"]]
    for run in with_estimate(runs):
        is_reliable = "yes" if run["estimate_is_reliable"] else "no"
        estimate, error = run["estimated_error"], run["error"]
        rows.append(
            [
                run["problem"],
                f"{run['minutes']:g}",
                str(run["seed"]),
                f"{estimate:.1e}",
                f"{error:.1e}",
                f"{estimate / error:.2g}",
                is_reliable,
            ]
        )
    return markdown_table(rows)


def cost_table() -> str:
    """Time and memory by number of columns."""
    found = json.loads(polish_cost.RESULTS.read_text(encoding="utf-8"))
    return markdown_table([list(polish_cost.HEADS), *map(polish_cost.cells, found)])


def ratio_sentence(runs: list[Any]) -> str:
    """How often the estimate is close, and its worst ratio."""
    ratios = [run["estimated_error"] / run["error"] for run in with_estimate(runs)]
    if not ratios:
        return ""
    close = sum(1 / 5 <= ratio <= 5 for ratio in ratios)
    return (
        f"\nWithin a factor of five on {close} of {len(ratios)} runs. The smallest "
        f"ratio is {min(ratios):.2g}, the largest {max(ratios):.2g}.\n"
    )


def with_estimate(runs: list[Any]) -> list[Any]:
    """Polished runs whose error the reference resolves."""
    found = [run for run in runs if run["variant"] == "polished"]
    found = [run for run in found if run.get("estimated_error") is not None]
    found = [run for run in found if not bound(run, run["error"])[1]]
    return sorted(found, key=lambda r: (r["minutes"], r["problem"], r["seed"]))


def programs(runs: list[Any]) -> str:
    """The commits that made the runs."""
    found = {commit_of(run["program"]) for run in runs if "program" in run}
    return f"\nMade by {', '.join(sorted(found))}.\n"


def grouped(
    runs: list[Any], variant: str
) -> Iterable[tuple[tuple[str, float], list[Any]]]:
    """Runs of a variant by problem and minutes."""
    keys = {(r["minutes"], r["problem"]) for r in runs if r["variant"] == variant}
    for minutes, name in sorted(keys):
        yield (name, minutes), select(runs, name, minutes, variant)


def select(runs: list[Any], name: str, minutes: float, variant: str) -> list[Any]:
    """The runs of one problem, time and variant."""
    wanted = (name, minutes, variant)
    return [r for r in runs if (r["problem"], r["minutes"], r["variant"]) == wanted]


def paired(runs: list[Any], one: Mapping[str, Any]) -> Any:
    """The default run with the checkpoint of a variant."""
    found = select(runs, one["problem"], one["minutes"], "polished")
    return next((run for run in found if run["seed"] == one["seed"]), None)


def bound(run: Mapping[str, Any], error: float) -> tuple[float, str]:
    """An error, or three times that of the reference with the sign of a bound."""
    floor = 3 * run["reference_error"]
    return (floor, "<") if error < floor else (error, "")


def spread(values: list[tuple[float, str]]) -> str:
    """The lower median [minimum, maximum] of errors with their signs."""
    if not values:
        return ""
    ordered = sorted(values)
    middle = ordered[(len(ordered) - 1) // 2]
    text = f"{middle[1]}{middle[0]:.1e}"
    if len(ordered) == 1:
        return text
    low, high = ordered[0], ordered[-1]
    return f"{text} [{low[1]}{low[0]:.1e}, {high[1]}{high[0]:.1e}]"
