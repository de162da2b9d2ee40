"""What a page says of several runs."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from matplotlib.figure import Figure

from ..diagnose import find_stages, find_warnings
from .figures import (
    plot_arms_dynamics,
    plot_arms_errors,
    plot_arms_over_time,
    plot_comparison,
)
from .markup import (
    PAGE,
    Page,
    Picture,
    Section,
    bullets,
    code,
    escape,
    links,
    paragraph,
    table,
)
from .run import RunRecord
from .several import ComparisonRecord

PICTURES = {  # by name: what it is called, and how it is read
    "comparison": (
        "Curves",
        "The median over seeds as a line, lowest to highest as a band: a lower line is "
        "better only if the bands are apart.",
    ),
    "arms-dynamics": (
        "Dynamics of learning",
        "A lower variance means a more even residual; a higher signal-to-noise ratio "
        "means that points agree more on where to go.",
    ),
    "arms-errors": (
        "Errors of functions",
        "Percentiles over the functions of the test set, the median over seeds as a "
        "line, lowest to highest as bars: arms may agree on most functions and differ "
        "on the hardest.",
    ),
    "arms-over-time": (
        "Error against time",
        "Mean and largest over the functions of the test set, the median over seeds: "
        "who is ahead late is often not who is ahead early.",
    ),
    "published": (
        "As published and here",
        "Errors in the course of training, published ones thin and in the colour of "
        "their arm.",
    ),
}


def page_of_comparison(comparison: ComparisonRecord, out: Path) -> Page:
    """A page that is to be in the folder `out`: result, figures, links to the runs."""
    content = comparison.content
    alarms = [*content.get("warnings", ()), *_failures(content), *_alarms(comparison)]
    told = bullets(alarms) if alarms else paragraph("No warnings.")
    sections = [
        Section("result", "Result", _result(content)),
        Section("warnings", "Warnings", told),
        Section("runs", "Runs", _run_links(comparison, out)),
    ]
    if comparison.command:
        again = code(comparison.command)
        sections.append(Section("reproduce", "Do it again", again))
    head = paragraph(comparison.sentence(), "result")
    title = f"{comparison.name}: comparison"
    return Page(title, head, sections, pictures_of(comparison))


def _result(content: dict[str, Any]) -> str:
    """The table and what it says."""
    if not content.get("runs"):
        return paragraph("No run has ended yet.")
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in content["table"].splitlines()
        if not line.startswith("| -")
    ]
    return table(rows) + bullets(content.get("sentences", ()))


def pictures_of(comparison: ComparisonRecord) -> list[Picture]:
    """All figures that there is something to show in."""
    records = comparison.records()
    drawn = {
        "comparison": plot_comparison(records, comparison.measure, comparison.label),
        "arms-dynamics": plot_arms_dynamics(records),
    }
    drawn |= _operator_figures(comparison) if comparison.is_operator else {}
    return [
        Picture(name, *PICTURES[name], figure)
        for name, figure in drawn.items()
        if figure is not None
    ]


def _operator_figures(comparison: ComparisonRecord) -> dict[str, Figure | None]:
    """How errors spread over functions, and over time."""
    arms = comparison.arms
    errors = {
        arm: [run.result["errors"] for run in runs if run.result.get("errors")]
        for arm, runs in arms.items()
    }
    shared = ("t", "errors over time")
    times = {arm: [run.arrays(*shared) for run in runs] for arm, runs in arms.items()}
    return {
        "arms-errors": plot_arms_errors(errors),
        "arms-over-time": plot_arms_over_time(times),
    }


def _failures(content: dict[str, Any]) -> list[str]:
    return [f"{name}: {text}" for name, text in content.get("failures", {}).items()]


def _alarms(comparison: ComparisonRecord) -> list[str]:
    """What looked wrong in each run."""
    return [
        f"{arm}, seed {run.about.get('seed', 0)}: {one.text} {one.advice}"
        for arm, runs in comparison.arms.items()
        for run in runs
        for one in find_warnings(run.record)
    ]


def _stages(run: RunRecord) -> str:
    """The stages of learning in words, if they are known."""
    found = [f"{s.name} from step {s.first_step}" for s in find_stages(run.record)]
    return f" Stages: {', '.join(found)}." if found else ""


def _run_links(comparison: ComparisonRecord, out: Path) -> str:
    """To the page of each run that has one; else where it stands."""
    lines = ""
    for arm, runs in comparison.arms.items():
        for run in runs:
            name = f"{arm}, seed {run.about.get('seed', 0)}"
            page = run.path / PAGE
            link = (
                links({name: address_of(page, out)}) if page.exists() else escape(name)
            )
            lines += f"<li>{link}: {escape(run.sentence() + _stages(run))}</li>\n"
    return f"<ul>{lines}</ul>" if lines else paragraph("No run has begun yet.")


def address_of(page: Path, out: Path) -> str:
    """From the page in one folder to another page."""
    way = os.path.relpath(page.resolve(), out.resolve())
    return quote(Path(way).as_posix())
