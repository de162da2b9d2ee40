"""The page of the one shot, made from `results/one_shot.json` and `peers.json`."""

import json
import statistics
from collections.abc import Iterable
from typing import Any

from vrba.report import markdown_table

from .commit import commit_of
from .peers.results import read_results
from .processes import ROOT

RESULTS, PAGE = ROOT / "results" / "one_shot.json", ROOT / "docs" / "one-shot.md"
ERRORS = (1e-6, 1e-8)
TRAINED = ("deepxde", "jinns")  # of other packages
HEAD = """# The one shot, measured

Written by `python -m benchmarks.one_shot`, never by hand: the time with compilation
after which the relative L2 error against the reference is below 1e-6 and 1e-8. The
error is measured beside the runs. Every run has one core. Imports do not count.

- `vrba`: `vrba solve NAME --tolerance 1e-8`, so it stops by its own error estimate. The
  scale of the features is chosen by the residual.
- `fastlsq, best scale`: one solve with the scale, out of its own list, that meets the
  error first, or comes closest. The exact solution chooses it, and the search does not
  count.
- `fastlsq, search`: its default. It tries its list of scales and compares each result
  with the exact solution.
- Conditions are exact in vrba, except the values at `x = 1` of `klein-gordon`. In
  FastLSQ, which has no output transform, all are rows of the least-squares problem.
- DeepXDE and jinns train: the best method of each on [their page](peers.md), with the
  same network as vrba's training.

"""
COLUMNS = ("problem", "method", "seeds", "1e-6", "1e-8", "lowest error", "ended")


def write_page() -> None:
    """Write the page from the kept results."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The table, the scales of FastLSQ, and the programs."""
    runs = list(json.loads(RESULTS.read_text(encoding="utf-8")).values())
    rows = [list(COLUMNS)]
    for problem in problems_of(runs):
        rows += [[problem, *row] for row in rows_of(problem, runs)]
    parts = [HEAD, markdown_table(rows), scales_text(runs), programs(runs)]
    return "".join(parts)


def problems_of(runs: list[dict[str, Any]]) -> list[str]:
    """The problems, by their names."""
    return sorted({run["problem"] for run in runs})


def rows_of(problem: str, runs: list[dict[str, Any]]) -> Iterable[list[str]]:
    """The rows of one problem."""
    own = [run for run in runs if run["problem"] == problem]
    with_scale = [run for run in own if run.get("scale") is not None]
    given = [run for run in with_scale if run["method"] != "fastlsq-auto"]
    yield row("vrba", [run for run in own if run["method"] == "vrba"])
    by_seed = {run["seed"]: [] for run in given}
    for run in given:
        by_seed[run["seed"]].append(run)
    yield row("fastlsq, best scale", [best_of(some) for some in by_seed.values()])
    searches = [run for run in own if run["method"] == "fastlsq-auto"]
    yield row("fastlsq, search", searches)
    for package in TRAINED:
        trained = trained_runs(problem, package)
        name = trained[0]["arm"] if trained else package
        yield row(name, trained)


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """The times of one method: medians over seeds."""
    if not runs:
        return [name, "0", "not run", "not run", "", ""]
    times = [time_text([time_to(run, error) for run in runs]) for error in ERRORS]
    lowest = [min((e for _, e in run["curve"]), default=float("inf")) for run in runs]
    ends = [run["curve"][-1][0] for run in runs if run["curve"]]
    failures = sorted({run["failure"] for run in runs if run.get("failure")})
    ended = f"{statistics.median(ends):.1f} s" if ends else ""
    error = f"{statistics.median(lowest):.1e}" if ends else ""
    return [name, str(len(runs)), *times, error, "; ".join(failures) or ended]


def time_to(run: dict[str, Any], error: float) -> float | None:
    """The first measured time with an error below a limit."""
    return next((seconds for seconds, found in run["curve"] if found < error), None)


def time_text(times: list[float | None]) -> str:
    """The median; `never` if fewer than half of the runs meet the error."""
    ordered = sorted(float("inf") if time is None else time for time in times)
    middle = ordered[len(ordered) // 2]
    missing = times.count(None)
    text = "never" if middle == float("inf") else f"{middle:.1f} s"
    return (
        f"{text} ({missing} of {len(times)} never)"
        if 0 < missing < len(times)
        else text
    )


def best_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run that meets the lowest of the errors first, or comes closest."""

    def rank(run):
        times = [time_to(run, error) for error in ERRORS[::-1]]
        known = [float("inf") if time is None else time for time in times]
        return (*known, min((error for _, error in run["curve"]), default=1.0))

    return min(runs, key=rank)


def trained_runs(problem: str, package: str) -> list[dict[str, Any]]:
    """Stored runs of the method of a package that reaches the lowest error."""
    runs = [
        run
        for run in read_results().values()
        if run["settings"]["problem"] == problem and run["curve"]
    ]
    runs = [run for run in runs if run["arm"].startswith(f"{package}-")]
    if not runs:
        return []
    lowest = lambda run: min(error for _, error in run["curve"])
    best = min(runs, key=lowest)["arm"]
    return [run for run in runs if run["arm"] == best]


def scales_text(runs: list[dict[str, Any]]) -> str:
    """What every scale of FastLSQ reaches."""
    given = [run for run in runs if run.get("scale") is not None and run["seed"] == 0]
    given = [run for run in given if run["method"] != "fastlsq-auto"]
    scales = sorted({run["scale"] for run in given})
    rows = [["scale", *(f"{scale:g}" for scale in scales)]]
    for problem in problems_of(runs):
        found = {r["scale"]: r for r in given if r["problem"] == problem}
        cells = [last_text(found[s]) if s in found else "" for s in scales]
        rows.append([problem, *cells])
    head = "\n## FastLSQ with each scale of its list\n\nError and seconds, seed 0.\n\n"
    return head + markdown_table(rows)


def last_text(run: dict[str, Any]) -> str:
    """The last error and its time."""
    seconds, error = run["curve"][-1]
    return f"{error:.1e}, {seconds:.1f} s"


def programs(runs: list[dict[str, Any]]) -> str:
    """The versions that made the runs."""
    own = sorted({commit_of(run["program"]) for run in runs if "program" in run})
    versions = {
        f"{name} {version}"
        for run in runs
        for name, version in run.get("versions", {}).items()
    }
    return f"\nMade by {', '.join(own)}, with {', '.join(sorted(versions))}.\n"
