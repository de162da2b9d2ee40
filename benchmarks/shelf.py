"""Every problem of the package, with uniform and default sampling, at equal time.

`python -m benchmarks.shelf --minutes 3 --seeds 1` solves them one after another with
`vrba compare`, each in a folder of its own, and continues what was stopped. It writes
`results/shelf.json` and, from that, `docs/shelf.md`; `--table` only writes the latter.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from vrba.compare import (
    BASELINE,
    ComparisonRecord,
    Spread,
    format_spread,
    known_problems,
    pair,
)
from vrba.diagnose import find_warnings

from .commit import commit_of

IS_LONG = True
ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "shelf.json", ROOT / "docs" / "shelf.md"
OWN = "default"
INTERRUPTED = 130  # exit code of `vrba compare`
CLEARLY = 1.01  # a smaller factor is none
ENOUGH_SEEDS = 3  # to be counted in the summary
HEAD = """# Every problem with its default recipe

Written by `python -m benchmarks.shelf`, never by hand: each problem with its default
recipe, beside the same recipe with uniform sampling (`uniform`), at equal time. Errors
are relative L2 errors against the problem's own reference, of the iterate with the
lowest residual on held-out points: the median over seeds [minimum, maximum]. The ratio
is the error of uniform divided by that of the default with the same seed: above 1
adaptivity helped. It is given for these iterates and for the last ones; one seed shows
nothing. An error below three times that of the reference is given as a bound, and the
ratio uses the bound. Steps are those made in the time, by the default and by uniform.
For unknown coefficients the table has the largest relative error over the seeds. The
last column (alarms) has the warnings of the default's runs.

| problem | min | seeds | steps | default | uniform | ratio | last | unknowns | alarms |
|---|---|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Solves what is missing, then writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="some of them; all if not given")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "shelf")
    parser.add_argument("--table", action="store_true", help="write the page only")
    asked = parser.parse_args()
    if unknown := set(asked.problems) - set(known_problems()):
        sys.exit(f"No problem named {', '.join(sorted(unknown))}.")
    if not asked.table:
        for name in asked.problems or sorted(known_problems()):
            keep(name, compared(name, asked))
    write_page()


def compared(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    """What `vrba compare` finds, also if it was stopped before."""
    out = asked.out / f"{name}-{asked.minutes:g}-{asked.seeds}"
    words = ["--resume", str(out)]
    if not (out / "comparison.json").exists():
        words = [name, "--policies", f"{BASELINE},{OWN}", "--out", str(out)]
        words += ["--minutes", f"{asked.minutes:g}", "--seeds", str(asked.seeds)]
    print(f"== {name}", flush=True)
    command = [sys.executable, "-m", "vrba", "compare", *words]
    if subprocess.run(command, check=False).returncode == INTERRUPTED:
        sys.exit("Stopped; the same command goes on.")
    found = ComparisonRecord.read(out)
    return found.content | {"run_warnings": run_warnings(found)}


def run_warnings(found: ComparisonRecord) -> list[str]:
    """Names of the warnings of the default's runs."""
    records = [run.record for run in found.runs[OWN].values()]
    names = [one.name for record in records for one in find_warnings(record)]
    return sorted(set(names))


def keep(name: str, found: dict[str, Any]) -> None:
    """Adds what was found to the results, in place of an earlier one."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    text = json.dumps(dict(sorted((known | {name: found}).items())), indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def read_results() -> dict[str, dict[str, Any]]:
    """All that was kept."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def write_page() -> None:
    """The table of all that was kept."""
    PAGE.write_text(page(read_results()), encoding="utf-8")
    print(f"See {PAGE.relative_to(ROOT)}.")


def page(known: dict[str, dict[str, Any]]) -> str:
    """The whole page as text."""
    rows = [row(name, found) for name, found in known.items()]
    notes = [
        f"- `{name}`: {line}" for name, one in known.items() for line in one["warnings"]
    ]
    makers: dict[str, list[str]] = {}
    for name, one in known.items():
        for program in one["programs"]:
            makers.setdefault(commit_of(program), []).append(f"`{name}`")
    made = [f"- {commit}: {', '.join(names)}" for commit, names in makers.items()]
    parts = [HEAD + "\n".join(rows)]
    parts += ["Warnings:\n\n" + "\n".join(notes)] if notes else []
    parts += ["Made by the program at\n\n" + "\n".join(made)]
    return "\n\n".join(parts) + "\n"


def row(name: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    methods, settings = found["methods"], found["settings"]
    steps = [methods[m]["step"]["median"] for m in (OWN, BASELINE) if m in methods]
    cells = [
        f"`{name}`",
        f"{settings['flags']['minutes']:g}",
        str(settings["num_seeds"]),
        ", ".join(f"{step:g}" for step in steps),
        median_error(methods.get(OWN), found["floor"]),
        median_error(methods.get(BASELINE), found["floor"]),
        *(middle(factors(found, which)) for which in ("selected", "last")),
        ", ".join(unknowns(found["runs"])),
        warned(found["run_warnings"]),
    ]
    return f"| {' | '.join(cells)} |"


def factors(found: dict[str, Any], which: str) -> tuple[float, ...]:
    """The error with uniform sampling divided by ours, for each seed of both, sorted.

    `which` is the iterate, `selected` or `last`.
    """
    errors: dict[str, dict[int, float]] = {BASELINE: {}, OWN: {}}
    for run in found["runs"]:
        if run["error"]:
            errors[run["method"]][run["seed"]] = run["error"][which]
    ratios = pair(errors[BASELINE], errors[OWN], found["floor"])
    return () if ratios is None else ratios.ratios


def middle(ratios: tuple[float, ...]) -> str:
    """The median, if there is one."""
    return f"{statistics.median(ratios):.2g}" if ratios else ""


def warned(names: list[str]) -> str:
    """The names of warnings."""
    return ", ".join(names) or "none"


def median_error(method: dict[str, Any] | None, floor: float) -> str:
    """The median, and the range if there is more than one seed."""
    if method is None:
        return "no run ended"
    return format_spread(Spread(**method["selected"]), floor)


def unknowns(runs: list[dict[str, Any]]) -> list[str]:
    """The largest relative error of each unknown coefficient."""
    own = [run["error"] for run in runs if run["method"] == OWN and run["error"]]
    names = [key for key in (own[0] if own else {}) if key.startswith("unknown ")]
    largest = {name: max(errors[name] for errors in own) for name in names}
    return [f"{n.removeprefix('unknown ')} {e:.2%}" for n, e in largest.items()]


def summary() -> str:
    """For the README: the problems with three seeds or more whose runs had an equal
    share of the machine."""
    known = read_results()
    repeated = {
        name: one
        for name, one in known.items()
        if one["settings"]["num_seeds"] >= ENOUGH_SEEDS and factors(one, "selected")
    }
    busy = [f"`{name}`" for name, one in repeated.items() if one["warnings"]]
    counted = {name: one for name, one in repeated.items() if not one["warnings"]}
    selected = {name: factors(one, "selected") for name, one in counted.items()}
    last = {name: factors(one, "last") for name, one in counted.items()}
    wins = sum(found[0] > CLEARLY for found in selected.values())
    losses = sum(found[-1] < 1 / CLEARLY for found in selected.values())
    chance = sum(0.5 ** len(found) for found in selected.values())
    told = ", ".join(busy)
    left_out = f" Not counted: {told} (the machine was busy)." if busy else ""
    least = {
        name: min(statistics.median(selected[name]), statistics.median(last[name]))
        for name in counted
    }
    ends = [max(least, key=least.__getitem__), min(least, key=least.__getitem__)]
    largest, smallest = (
        f"`{name}` ({statistics.median(selected[name]):.2g}, for last iterates "
        f"{statistics.median(last[name]):.2g})"
        for name in ends
    )
    return (
        f"Compared with uniform sampling, on {len(counted)} problems with three seeds "
        f"or more, the error is **lower with every seed on {wins}, higher with every "
        f"seed on {losses}**; on the others seeds disagree. (Differences below "
        f"{100 * (CLEARLY - 1):.0f} % count as none. Between equal methods chance "
        f"gives about {chance:.0f} and {chance:.0f}.) It is lower by a factor of "
        f"{_quartiles(selected)}, for last iterates by {_quartiles(last)}. By the "
        f"smaller of both factors it is largest for {largest} and smallest for "
        f"{smallest}.{left_out} [All of them](docs/shelf.md).\n"
    )


def _quartiles(found: dict[str, tuple[float, ...]]) -> str:
    """Of the medians over seeds."""
    medians = [statistics.median(ratios) for ratios in found.values()]
    lower, middle, upper = statistics.quantiles(medians)
    return f"{middle:.2g} (median; quartiles {lower:.2g} and {upper:.2g})"


if __name__ == "__main__":
    main()
