"""The page of results, and the table of the README, from stored results."""

import json
import textwrap
from pathlib import Path
from typing import Any

from vrba.compare import BASELINE, PICTURES
from vrba.paper import (
    HOW_TO_READ,
    SCALES,
    differences_text,
    item_text,
    item_title,
    known_items,
)
from vrba.report import format_number

from . import polish_page, shelf
from .commit import commit_of
from .peers import page as peers
from .shortcomings import NOT_ADAPTIVE, shortcomings

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "results" / "reproduce", ROOT / "docs"
PAGE, README = DOCS / "results.md", ROOT / "README.md"
MARKS = ("<!-- written by python -m benchmarks.results -->\n", "<!-- until here -->")
PAPER = (
    "**[The problems of the paper](docs/results.md)**: relative L2 error of the "
    "selected iterate (last iterate), median over seeds. Scale `paper` has the "
    "published sizes and steps, or an hour of our default; scale `laptop` is smaller, "
    "so its errors cannot be compared with published ones. At scale `laptop` Adam ends "
    "before uniform sampling leaves an error of one half, and the runs of the flow and "
    "the waves are too short for adaptivity to act. Sampling and weights are as "
    "published, except for our default. Published errors are of last iterates. The "
    "published Allen-Cahn errors are for initial values on 512 points, more than 1e-5 "
    "from the solution with a kink. Those of the bubbles are for the validation set, "
    "ours for the test set."
)
DIFFERENCES = "Differences from the paper"
HEAD = """# Results

Written by `python -m benchmarks.results`, never by hand, from the files in
`results/reproduce`, which have every run with its seed, settings, program and time.
`vrba reproduce NAME --scale SCALE` reproduces a table or a figure of Toscano et al.
(2025). Scale `laptop` is smaller than the paper in data, points or steps: compare its
errors with one another, not with published ones. Rows whose runs were made at another
time are in the tables and not in the pictures. Times of runs that shared a machine say
little. [The differences from the paper](#{anchor}) stand below the tables, for each
experiment. Every problem of the package is on [the shelf](shelf.md).

{reading}

"""


def kept() -> list[dict[str, Any]]:
    """All stored results, by name and scale."""
    found = [json.loads(path.read_text("utf-8")) for path in RESULTS.rglob("*.json")]
    return sorted(found, key=lambda one: (one["name"], SCALES.index(one["scale"])))


def page() -> str:
    """The whole page as text."""
    found = kept()
    tables = [one for one in found if not is_figure(one)]
    parts = [f"#{item_text(one, explains=False)}\n{made_by(one)}" for one in tables]
    parts += [f"## {DIFFERENCES}\n{differences_text(tables)}"]
    drawn = [(one, pictures(one)) for one in found if is_figure(one)]
    parts += [f"## {item_title(one)}\n\n{text}" for one, text in drawn if text]
    anchor = DIFFERENCES.lower().replace(" ", "-")
    head = HEAD.format(reading=textwrap.fill(HOW_TO_READ, 88), anchor=anchor)
    return head + shortcomings(found) + "\n".join(parts)


def is_figure(result: dict[str, Any]) -> bool:
    """Whether pictures show the result; its rows are those of a table."""
    return result["name"].startswith("figure")


def picture_stem(result: dict[str, Any]) -> str:
    """The beginning of the names of its pictures."""
    return f"results-{result['scale']}-{result['name']}"


def pictures(result: dict[str, Any]) -> str:
    """All stored pictures with their captions."""
    text = ""
    for experiment in known_items()[result["name"]].experiments:
        stem = f"{picture_stem(result)}-{experiment.name}-"
        rows = [r for r in result["rows"] if r.get("comparison") == experiment.name]
        sources = [row["curve_source"] for row in rows if "curve_source" in row]
        for path in sorted(DOCS.glob(f"{stem}*.png")):
            title, reading = PICTURES[kind := path.stem.removeprefix(stem)]
            if kind == "published":
                reading += f" Source: {sources[0]}."
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
                f"{program['jax']}, {program['device']}, {threads} thread(s) per run\n"
            )
    return "Made by\n" + "".join(dict.fromkeys(found)) if found else ""


def paper_table(results: list[dict[str, Any]]) -> str:
    """The paper's problems for the README, each at the largest scale that has a
    baseline and another method."""
    runs: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {}
    for scale in SCALES:
        rows = [row for one in results if one["scale"] == scale for row in one["rows"]]
        rows = [row for row in rows if row.get("ours") is not None]
        for experiment in {row["experiment"] for row in rows} - set(runs):
            own = {r["method"]: r for r in rows if r["experiment"] == experiment}
            if BASELINE in own and len(own) > 1:
                runs[experiment] = scale, own
    text = "| | scale | seeds | uniform | adaptive | published |\n"
    text += "|---|---|---|---|---|---|\n"
    for experiment, (scale, own) in sorted(runs.items()):
        adaptive = [row for name, row in own.items() if name not in NOT_ADAPTIVE]
        counts = sorted({len(row["seeds"]) for row in (own[BASELINE], *adaptive)})
        ours = [f"{_label(row)} {_both(row)}" for row in adaptive]
        known = [row for row in own.values() if row["published"]]
        known = known if scale == "paper" else []
        published = [f"{_label(row)} {_error(row['published'])}" for row in known]
        cells = [experiment, scale, ", ".join(map(str, counts)), _both(own[BASELINE])]
        cells += ["; ".join(ours), "; ".join(published)]
        text += f"| {' | '.join(cells)} |\n"
    return text


def _label(row: dict[str, Any]) -> str:
    """`RAD` for `RAD (table 2)`."""
    if row["method"].startswith("uniform"):
        return "uniform"
    return "default" if row["method"] == "default" else row["label"].split(" (")[0]


def _both(row: dict[str, Any]) -> str:
    """Medians of the selected and of the last iterate."""
    return f"{_error(row['ours']['median'])} ({_error(row['last']['median'])})"


def _error(error: float | None) -> str:
    return "not finite" if error is None else format_number(error)


def readme() -> str:
    """The README with its tables as they are now."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    paper = f"{PAPER}\n\n{paper_table(kept())}"
    tables = [polish_page.summary(), peers.summary(), paper, shelf.summary()]
    parts = "\n".join(tables)
    return before + MARKS[0] + parts + MARKS[1] + after


def write_page() -> None:
    """Write the page, and the tables of the README."""
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")
    print(f"See {PAGE.relative_to(ROOT)}.")
