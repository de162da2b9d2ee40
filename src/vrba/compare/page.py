"""Pages of comparisons, and `write_report` for whatever has a page."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core import InputError
from ..diagnose import find_stages, find_warnings
from ..report import (
    PAGE,
    Page,
    Picture,
    Section,
    bullets,
    code,
    escape,
    folder_of,
    links,
    paragraph,
    plot_comparison,
    plot_methods_dynamics,
    plot_methods_errors,
    plot_methods_over_time,
    table,
    write_page,
    write_run_report,
)
from ..runs import RunRecord
from ._base import run_name
from .folder import ComparisonFolder, ComparisonRecord

PICTURES = {  # by name: the title, and how to read the figure
    "comparison": (
        "Curves",
        "The line is the median over seeds, the band the range: a lower line is better "
        "only where the bands do not overlap.",
    ),
    "dynamics": (
        "Dynamics of learning",
        "A lower variance means a more even residual; a higher signal-to-noise ratio "
        "means that the gradients of points agree more.",
    ),
    "errors": (
        "Errors of functions",
        "Percentiles over the functions of the test set. The line is the median over "
        "seeds, the bars are the range: methods may agree on most functions and differ "
        "on the hardest.",
    ),
    "errors-over-time": (
        "Error against time",
        "Mean and maximum over the functions of the test set, median over seeds: the "
        "order of the methods may change with time.",
    ),
    "published": (
        "As published and here",
        "Errors during training; published ones are thin and in the colour of their "
        "method.",
    ),
}


def write_report(source: Any, out: str | os.PathLike[str] | None = None) -> Path:
    """Write `report.html` and `figures/` into the folder of the run, or into `out`.

    `source` is a run folder, a `RunRecord`, a solution or operator with a folder, a
    comparison or its folder. A list of runs makes one page that compares them, into
    `out`. Returns the path of the page.
    """
    if isinstance(source, list | tuple):
        return _write_runs(source, out)
    if isinstance(source, RunRecord):
        return write_run_report(source, out)
    if isinstance(getattr(source, "record", None), ComparisonRecord):
        return source.write_report(out)  # a `Comparison`
    path = folder_of(source)
    if ComparisonFolder(path).file.exists():
        return write_comparison_report(ComparisonRecord.read(path), Path(out or path))
    return write_run_report(source, out)


def write_comparison_report(comparison: ComparisonRecord, out: Path) -> Path:
    """Write the page of a comparison into the folder `out`."""
    return write_page(page_of_comparison(comparison, out), out)


def _write_runs(runs: Sequence[Any], out: str | os.PathLike[str] | None) -> Path:
    if len(runs) == 1:
        return write_report(runs[0], out)
    if not runs or out is None:
        raise InputError(
            f"`out` must be the folder for the page of {len(runs)} runs, got {out}."
        )
    records = [
        run if isinstance(run, RunRecord) else RunRecord.read(folder_of(run))
        for run in runs
    ]
    return write_comparison_report(ComparisonRecord.of_runs(records), Path(out))


def page_of_comparison(comparison: ComparisonRecord, out: Path) -> Page:
    """A page in the folder `out`: result, figures, links to the runs."""
    content = comparison.content
    warnings = [*content.get("warnings", ()), *_failures(content)]
    warnings += _run_warnings(comparison)
    listed = bullets(warnings) if warnings else paragraph("No warnings.")
    sections = [
        Section("result", "Result", result_html(content)),
        Section("warnings", "Warnings", listed),
        Section("runs", "Runs", _run_links(comparison, out)),
    ]
    if comparison.command:
        again = code(comparison.command)
        sections.append(Section("reproduce", "Repeat this comparison", again))
    head = paragraph(comparison.sentence(), "result")
    title = f"{comparison.name}: comparison"
    return Page(title, head, sections, pictures_of(comparison))


def result_html(content: dict[str, Any]) -> str:
    """The table and its sentences as HTML."""
    if not content.get("runs"):
        return paragraph("No run has ended yet.")
    return table(content["rows"]) + bullets(content.get("sentences", ()))


def pictures_of(comparison: ComparisonRecord) -> list[Picture]:
    """All figures for which data were logged."""
    records = comparison.records()
    drawn = {
        "comparison": plot_comparison(records, comparison.measure, comparison.label),
        "dynamics": plot_methods_dynamics(records),
    }
    drawn |= _operator_figures(comparison) if comparison.is_operator else {}
    return [
        Picture(name, *PICTURES[name], figure)
        for name, figure in drawn.items()
        if figure is not None
    ]


def _operator_figures(comparison: ComparisonRecord) -> dict[str, Any]:
    """Errors over functions, and over time."""
    errors = {
        method: [r.result["errors"] for r in runs.values() if r.result.get("errors")]
        for method, runs in comparison.runs.items()
    }
    times = {
        method: [run.arrays("t", "errors over time") for run in runs.values()]
        for method, runs in comparison.runs.items()
    }
    return {
        "errors": plot_methods_errors(errors),
        "errors-over-time": plot_methods_over_time(times),
    }


def _failures(content: dict[str, Any]) -> list[str]:
    return [f"{name}: {text}" for name, text in content.get("failures", {}).items()]


def _run_warnings(comparison: ComparisonRecord) -> list[str]:
    """Warnings from the log of each run."""
    return [
        f"{run_name(method, seed)}: {one.text} {one.advice}"
        for method, runs in comparison.runs.items()
        for seed, run in runs.items()
        for one in find_warnings(run.record)
    ]


def _stages(run: RunRecord) -> str:
    """The stages of learning, if known."""
    found = [f"{s.name} from step {s.first_step}" for s in find_stages(run.record)]
    return f" Stages: {', '.join(found)}." if found else ""


def _run_links(comparison: ComparisonRecord, out: Path) -> str:
    """The result of each run, with a link to its page if there is one."""
    lines = ""
    for method, runs in comparison.runs.items():
        for seed, run in runs.items():
            name, page = run_name(method, seed), run.path / PAGE
            link = escape(name)
            if page.exists():
                link = links({name: relative_address(page, out)})
            lines += f"<li>{link}: {escape(run.sentence() + _stages(run))}</li>\n"
    return f"<ul>{lines}</ul>" if lines else paragraph("No run has begun yet.")


def relative_address(page: Path, out: Path) -> str:
    """The address of a page, as seen from a page in the folder `out`."""
    path = os.path.relpath(page.resolve(), out.resolve())
    return quote(Path(path).as_posix())
