"""The page of results: the paper's tables and figures, as they came out here.

`python -m benchmarks.results table1 figure4 --scale laptop --seeds 3` calls `vrba
reproduce` for each, keeps what came out in `results/reproduce/SCALE/NAME.json`, and
writes `docs/results.md` from all that is kept, never by hand. It goes on where it was
stopped. `--only uniform,rad` or `--only bubble` makes runs of these arms or experiments
only: on another machine, or another day, the rest is taken from what is kept. `--table`
makes no runs, but keeps what is there; without names only tables and the page are
brought up to date.
"""

import argparse
import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from vrba.cli._base import DONE, FAILED
from vrba.cli.arms import BASELINE
from vrba.cli.paper import SCALES, Exhibit
from vrba.cli.reproduce import known_exhibits
from vrba.core import write_atomically
from vrba.report import differences_text, exhibit_text, exhibit_title, format_number
from vrba.report.comparison_page import PICTURES
from vrba.report.exhibit import READING

from . import shelf
from .behind import EVEN, behind
from .commit import commit_of
from .kept_runs import comparisons_of, exhibit_of, runs_of
from .peers import page as peers

IS_LONG = True
ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "results" / "reproduce", ROOT / "docs"
PAGE, README = DOCS / "results.md", ROOT / "README.md"
MARKS = ("<!-- written by python -m benchmarks.results -->\n", "<!-- until here -->")
PAPER = (
    "**[The problems of the paper](docs/results.md)**, selected iterate (last "
    "iterate), medians over seeds. Draws and weights are as published, not corrected, "
    "but for our default. `paper`: its sizes and steps, or an hour of our default. "
    "`laptop`: smaller, not to be held against what was published; with Adam it ends "
    "before even points leave an error of one half, and of the flow and the waves it "
    "is so short that tilts hardly act. Published errors are of last iterates; those "
    "of Allen-Cahn of initial values on 512 points, more than 1e-5 from the solution "
    "with a kink; those of the bubbles on the validation set, ours on the test set."
)
DIFFERS = "What differs from what was published"
HEAD = """# Results

Written by `python -m benchmarks.results`, never by hand, from the files in
`results/reproduce`, which have every run with its seed, settings, program and time.
`vrba reproduce NAME --scale SCALE` makes a table or a figure of Toscano et al. (2025)
again; `laptop` is smaller than the paper in data, points or steps, so its errors are to
be compared with one another, not with what was published. A row that was made in
another sitting than most is in the table and not in the pictures; minutes of runs that
shared a machine say little. [What differs](#{anchor}) from
what was published stands below the tables, for each experiment. Every problem that
comes with the package is on [the shelf](shelf.md).

{reading}

"""


def main() -> None:
    """Makes what is asked for, keeps it, writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables and figures")
    parser.add_argument("--scale", default="laptop")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "reproduce")
    parser.add_argument("--only", help="arms or experiments whose runs are made")
    parser.add_argument("--replace", action="store_true", help="kept runs may go")
    parser.add_argument("--table", action="store_true", help="make no runs")
    asked = parser.parse_args()
    for name in asked.names:
        folder = asked.out / asked.scale / name
        keep(reproduced(name, asked), folder / "figures", asked.replace)
    for scale in SCALES:
        store(scale)
    write_page()


def reproduced(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    """What `vrba reproduce` finds."""
    words = ["reproduce", name, "--scale", asked.scale, "--out", str(asked.out)]
    words += ["--table"] if asked.table else ["--seeds", str(asked.seeds)]
    words += [] if asked.only is None else ["--only", asked.only]
    command = [sys.executable, "-m", "vrba", *words]
    code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    if code not in (DONE, FAILED):  # a run that failed is told on the page
        sys.exit(f"{name} did not come to an end.")
    path = asked.out / asked.scale / name / "result.json"
    return json.loads(path.read_text(encoding="utf-8"))


def keep(found: dict[str, Any], figures: Path, replaces: bool = False) -> None:
    """One file for each exhibit and scale, with the runs that were kept before and are
    missing in what was found; of a figure its pictures too, for each experiment unless
    there are some and runs are missing in these."""
    stored = store(found["scale"], found, replaces=replaces)[found["name"]]
    for name in found["comparisons"] if is_figure(found) else ():
        there = list(DOCS.glob(f"{_stem(found)}-{name}-*.png"))
        drawn = sorted(figures.glob(f"{name}-*.png"))
        made, all_runs = (
            {run for run in runs_of([one]) if run[0] == name} for one in (found, stored)
        )
        if drawn and (made == all_runs or not there):
            for old in there:
                old.unlink()
            for picture in drawn:
                shutil.copyfile(picture, DOCS / f"{_stem(found)}-{picture.name}")


def store(
    scale: str, *found: dict[str, Any], replaces: bool = False
) -> dict[str, dict[str, Any]]:
    """What was found and what is kept, to the files: an experiment is the same in all
    exhibits that show it. Returns them by name. Runs that are kept are lost only if
    these are to replace them."""
    before = [one for one in kept() if one["scale"] == scale]
    known = [*found, *before]
    contents = comparisons_of(known)
    parts = ("runs", "failures")
    made = {name for name, one in contents.items() if any(map(one.get, parts))}
    names = [one.name for one in known_exhibits().values() if shows(one, made)]
    stored = {name: exhibit_of(name, scale, contents) for name in names}
    lost = runs_of(before) - runs_of(stored.values())
    if lost and not replaces:
        told = "; ".join(f"{name}, {arm}, seed {n}" for name, arm, n in sorted(lost))
        sys.exit(
            f"Not kept: these runs of scale {scale} had another problem or other "
            f"settings, and would be lost: {told}. `--table --replace` keeps the new "
            "ones and lets them go."
        )
    for name, one in stored.items():
        path = RESULTS / scale / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(one, indent=1) + "\n").encode())
    return stored


def shows(exhibit: Exhibit, names: set[str]) -> bool:
    """Whether it has one of these experiments."""
    return any(one.name in names for one in exhibit.experiments)


def _stem(found: dict[str, Any]) -> str:
    """What the names of its pictures begin with."""
    return f"results-{found['scale']}-{found['name']}"


def kept() -> list[dict[str, Any]]:
    """All of them, by name and scale."""
    found = [json.loads(path.read_text("utf-8")) for path in RESULTS.rglob("*.json")]
    return sorted(found, key=lambda one: (one["name"], SCALES.index(one["scale"])))


def page() -> str:
    """The whole page as text."""
    found = kept()
    tables = [one for one in found if not is_figure(one)]
    parts = [f"#{exhibit_text(one, explains=False)}\n{made_by(one)}" for one in tables]
    parts += [f"## {DIFFERS}\n{differences_text(tables)}"]
    drawn = [(one, pictures(one)) for one in found if is_figure(one)]
    parts += [f"## {exhibit_title(one)}\n\n{text}" for one, text in drawn if text]
    anchor = DIFFERS.lower().replace(" ", "-")
    head = HEAD.format(reading=textwrap.fill(READING, 88), anchor=anchor)
    return head + behind(found) + "\n".join(parts)


def is_figure(found: dict[str, Any]) -> bool:
    """Whether it is shown by pictures; its rows are those of a table."""
    return found["name"].startswith("figure")


def pictures(result: dict[str, Any]) -> str:
    """What was drawn, if it was."""
    text = ""
    for experiment in known_exhibits()[result["name"]].experiments:
        stem = f"{_stem(result)}-{experiment.name}-"
        rows = [r for r in result["rows"] if r.get("comparison") == experiment.name]
        sources = [row["curve_source"] for row in rows if "curve_source" in row]
        for path in sorted(DOCS.glob(f"{stem}*.png")):
            title, reading = PICTURES[kind := path.stem.removeprefix(stem)]
            if kind == "published":
                reading += f" Where these are from: {sources[0]}."
            name = f"{experiment.title}: {title.lower()}"
            text += f"![{name}]({path.name})\n\n*{name}. {reading}*\n\n"
    return text


def made_by(result: dict[str, Any]) -> str:
    """Versions and threads of the runs."""
    found = []
    for name, one in result["comparisons"].items():
        for program in one.get("programs", ()):
            threads = one["settings"]["num_threads"]
            found.append(
                f"- {name}: vrba {program['vrba']} at {commit_of(program)}, jax "
                f"{program['jax']}, {program['device']}, {threads} thread(s) a run\n"
            )
    return "Made by\n" + "".join(dict.fromkeys(found)) if found else ""


def paper_table(results: list[dict[str, Any]]) -> str:
    """The paper's problems for the README, each at the largest scale at which there is
    a baseline and something beside it."""
    runs: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {}
    for scale in SCALES:
        rows = [row for one in results if one["scale"] == scale for row in one["rows"]]
        rows = [row for row in rows if row.get("ours") is not None]
        for experiment in {row["experiment"] for row in rows} - set(runs):
            arms = {r["word"]: r for r in rows if r["experiment"] == experiment}
            if BASELINE in arms and len(arms) > 1:
                runs[experiment] = scale, arms
    text = "| | scale | seeds | evenly drawn | by the residual | published |\n"
    text += "|---|---|---|---|---|---|\n"
    for experiment, (scale, arms) in sorted(runs.items()):
        tilts = [row for word, row in arms.items() if word not in EVEN]
        counts = sorted({len(row["seeds"]) for row in (arms[BASELINE], *tilts)})
        even = _both(arms[BASELINE])
        ours = [f"{_label(row)} {_both(row)}" for row in tilts]
        known = [row for row in arms.values() if row["published"]]
        known = known if scale == "paper" else []
        published = [f"{_label(row)} {_told(row['published'])}" for row in known]
        cells = [experiment, scale, ", ".join(map(str, counts)), even]
        cells += ["; ".join(ours), "; ".join(published)]
        text += f"| {' | '.join(cells)} |\n"
    return text


def _label(row: dict[str, Any]) -> str:
    """`RAD` of `RAD (table 2)`; `default` of what vrba does by default."""
    if row["word"].startswith("uniform"):
        return "evenly"
    return "default" if row["word"] == "vrba" else row["label"].split(" (")[0]


def _both(row: dict[str, Any]) -> str:
    """Medians of the selected and of the last iterate."""
    return f"{_told(row['ours']['median'])} ({_told(row['last']['median'])})"


def _told(error: float | None) -> str:
    return "not finite" if error is None else format_number(error)


def readme() -> str:
    """The README with its table as it is now."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    paper = f"{PAPER}\n\n{paper_table(kept())}"
    parts = "\n".join([peers.summary(), paper, shelf.summary()])
    return before + MARKS[0] + parts + MARKS[1] + after


def write_page() -> None:
    """To the docs, and the table of the README."""
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")
    print(f"See {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
