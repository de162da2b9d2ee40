"""Every problem that comes with the package, uniform and by default, at equal time.

`python -m benchmarks.shelf --minutes 3 --seeds 1` solves them one after another with
`vrba compare`, each in a folder of its own, and goes on where it was stopped. It writes
`results/shelf.json` and, from that, `docs/shelf.md`; `--table` only writes the latter.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from vrba.cli._base import INTERRUPTED
from vrba.cli.names import known_problems
from vrba.diagnose import find_warnings
from vrba.report import ComparisonRecord, Spread, spread_text

IS_LONG = True
ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "shelf.json", ROOT / "docs" / "shelf.md"
BASELINE, OWN = "uniform", "vrba"
HEAD = """# What the shelf reaches

Written by `python -m benchmarks.shelf`, never by hand: each problem with its default
recipe and the settings it comes with, beside the same with points drawn evenly and
redrawn (`uniform`), at equal time. Errors are relative L2 against the problem's own
reference, of the iterate with the lowest residual on held-out points; the median over
seeds [lowest, highest]. The ratio is that of uniform to ours for the same seed, above 1
where adaptivity helped; with one seed nothing can be said about chance. An error below
three times that of the reference is given as a bound, and counts as it in the ratio.
Of unknown coefficients the largest relative error over the seeds is given. The last
column has the warnings of our own runs, if these were diagnosed.

| problem | minutes | seeds | ours | uniform | ratio | unknowns | warnings |
|---|---|---|---|---|---|---|---|
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
    command = [sys.executable, "-m", "vrba.cli", "compare", *words]
    if subprocess.run(command, check=False).returncode == INTERRUPTED:
        sys.exit("Stopped; the same command goes on.")
    found = ComparisonRecord.read(out)
    return found.content | {"alarms": alarms(found)}


def alarms(found: ComparisonRecord) -> list[str]:
    """What our own runs warned of."""
    records = [run.record for run in found.arms[OWN]]
    names = [one.name for record in records for one in find_warnings(record)]
    return sorted(set(names))


def keep(name: str, found: dict[str, Any]) -> None:
    """Adds what was found to the results, in place of an earlier one."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    text = json.dumps(dict(sorted((known | {name: found}).items())), indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def write_page() -> None:
    """The table of all that was kept."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [row(name, found) for name, found in known.items()]
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"See {PAGE.relative_to(ROOT)}.")


def row(name: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    arms, settings = found["arms"], found["settings"]
    ratio = found["against_baseline"][OWN]
    cells = [
        f"`{name}`",
        f"{settings['flags']['minutes']:g}",
        str(settings["num_seeds"]),
        shown(arms.get(OWN), found["floor"]),
        shown(arms.get(BASELINE), found["floor"]),
        f"{1 / ratio['median']:.2g}" if ratio and ratio["median"] else "",
        ", ".join(unknowns(found["runs"])),
        warned(found.get("alarms")),
    ]
    return f"| {' | '.join(cells)} |"


def warned(names: list[str] | None) -> str:
    """Empty for runs made before there were alarms."""
    return "" if names is None else ", ".join(names) or "none"


def shown(arm: dict[str, Any] | None, floor: float) -> str:
    """The median, and the range if there is more than one seed."""
    if arm is None:
        return "no run ended"
    return spread_text(Spread(**arm["selected"]), floor)


def unknowns(runs: list[dict[str, Any]]) -> list[str]:
    """How far our own runs are from the true coefficients, at most."""
    own = [run["error"] for run in runs if run["arm"] == OWN and run["error"]]
    names = [key for key in (own[0] if own else {}) if key.startswith("unknown ")]
    largest = {name: max(errors[name] for errors in own) for name in names}
    return [f"{n.removeprefix('unknown ')} {e:.2%}" for n, e in largest.items()]


if __name__ == "__main__":
    main()
