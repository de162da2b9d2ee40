"""The page of a run, and the writer of any page: one file that needs nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core import InputError, format_duration, write_atomically
from ..diagnose import find_warnings
from ..runs import RunRecord, stop_advice
from .figures import figures_of, write_figure
from .markup import (
    PAGE,
    Page,
    Picture,
    Section,
    code,
    escape,
    figure,
    fill_template,
    links,
    pairs,
    paragraph,
    section,
    table,
)
from .measures import diagnosis_rows, error_rows, polish_rows
from .svg import panels_as_svg

Folder = str | os.PathLike[str]

_NOT_SETTINGS = ("class", "code", "command", "format_version", "kind", "layout") + (
    "provenance",
    "source",
)


def write_run_report(run: Any, out: Folder | None = None) -> Path:
    """Write `report.html` and `figures/` of a run and return the path of the page.

    `run` is a run folder, a `RunRecord`, or a solution with a folder. The page is
    written into `out`, by default into the folder of the run.
    """
    record = run if isinstance(run, RunRecord) else RunRecord.read(folder_of(run))
    return write_page(page_of_run(record), Path(out or record.path))


def folder_of(run: Any) -> Path:
    """The folder of a run that is given as in `write_run_report`."""
    if isinstance(run, RunRecord):
        return run.path
    path = getattr(run, "run", run)  # the attribute of a solution
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"`run` must have a folder, but this {type(run).__name__} has none. Give "
            "the path of a run folder, or solve with `run=`."
        )
    return Path(path)


def write_page(page: Page, out: Path) -> Path:
    """Write the page and its figures as PNG files into `out`."""
    figures = ""
    for one in page.pictures:
        write_figure(one.figure, out / "figures" / f"{one.name}.png")
        panels = panels_as_svg(one.figure, one.name)
        figures += figure(one.name, one.title, panels, one.caption)
    if not figures:
        figures = paragraph("No figures: the log is empty.")
    first, *others = page.sections
    sections = [first, Section("figures", "Figures", figures), *others]
    text = fill_template(
        title=page.title,
        head=page.head,
        links=links({part.title: f"#{part.name}" for part in sections}),
        content="".join(section(*part) for part in sections),
    )
    write_atomically(out / PAGE, text.encode())
    return out / PAGE


def page_of_run(run: RunRecord) -> Page:
    """Result, warnings, figures, accuracy, cost and settings of one run."""
    head = paragraph(run.sentence(), "result")
    head += paragraph(stop_advice(run.result), "quiet")
    head += paragraph(run.complaint, "quiet") if run.complaint else ""
    sections = [Section("warnings", "Warnings", _warnings(run))]
    if errors := error_rows(run):
        sections.append(Section("accuracy", "Accuracy", table(errors)))
    if steps := polish_rows(run):
        content = paragraph(_polish_sentence(run.result)) + table(steps)
        sections.append(Section("polish", "Linear stage", content))
    if measured := list(diagnosis_rows(run)):
        sections.append(Section("diagnosis", "Diagnostics", pairs(measured)))
    sections += [
        Section("cost", "Cost", pairs(_cost_rows(run))),
        Section("reproduce", "Reproduce", _command(run)),
        Section("recipe", "Recipe", pairs(_settings_rows(run.manifest))),
    ]
    pictures = [
        Picture(one.name, one.title, one.caption, drawn)
        for one, drawn in figures_of(run)
    ]
    return Page(f"{run.name}: {run.path.resolve().name}", head, sections, pictures)


def _polish_sentence(result: dict[str, Any]) -> str:
    """What the linear stage selected, and why."""
    stage = result["polish"]
    before, after = stage["start"]["residual_l2"], stage["steps"][-1]["residual_l2"]
    estimate = "unknown"
    if result["estimated_error"] is not None:
        estimate = f"{result['estimated_error']:.1e}"
        estimate += "" if result["estimate_is_reliable"] else " (uncertain)"
    if not stage["is_selected"]:
        return (
            "No step was expected to halve the error, so the trained network is "
            f"selected. Its estimated relative error is {estimate}."
        )
    return (
        "The polished network is selected: a step was expected to halve the error. The "
        "estimate before a step is the distance to the least-squares solution of all "
        "columns, relative to the solution. The residual fell from "
        f"{before:.2e} to {after:.2e} on points that no step used. The "
        f"estimated relative error is {estimate}. The stage took "
        f"{stage['seconds']:.0f} s."
    )


def _warnings(run: RunRecord) -> str:
    warnings = find_warnings(run.record)
    if not warnings:
        diagnosed = sum(entry.get("snr") is not None for entry in run.record)
        return paragraph(
            f"No warnings in {len(run.record)} log entries, {diagnosed} of them with "
            "diagnostics."
        )
    return "".join(
        f'<div class="warning"><b>{escape(one.text)}</b> (step {one.step}) '
        f"{escape(one.advice)}</div>\n"
        for one in warnings
    )


def _command(run: RunRecord) -> str:
    command = run.command()
    if command is None:
        return paragraph("The run was started from Python; its settings are below.")
    return code(command)


def _cost_rows(run: RunRecord) -> Iterator[tuple[int, str, str]]:
    seconds, step = run.seconds, run.step
    rounded = f" ({format_duration(seconds)})" if seconds >= 100 else ""
    yield 0, "time", f"{seconds:.1f} s{rounded}"
    yield 0, "steps", f"{step:,}"
    if step:
        yield 0, "time per step", f"{seconds / step:.3g} s"
    spent = run.diagnose_seconds
    if spent is not None and seconds > 0:
        share = 100 * spent / seconds
        yield 0, "diagnostics", f"{spent:.1f} s, {share:.1f} % of the time"
    if "num_params" in run.manifest:
        yield 0, "parameters", f"{run.manifest['num_params']:,}"
    if run.manifest.get("weights_bytes"):
        yield (
            0,
            "memory of the weights",
            f"{run.manifest['weights_bytes'] / 1e6:.3g} MB",
        )
    provenance = run.manifest.get("provenance")
    for name, value in provenance.items() if isinstance(provenance, dict) else ():
        yield 0, str(name), _format_value(value)


def _settings_rows(values: Any, depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """Nested settings as depth, name and value; the value of an object is its class."""
    for name, value in values.items():
        if name in _NOT_SETTINGS:
            continue
        inner = value if isinstance(value, dict) else {}
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            inner = {str(place + 1): one for place, one in enumerate(value)}
        if not inner:
            yield depth, str(name), _format_value(value)
            continue
        yield depth, str(name), str(inner.get("class", ""))
        yield from _settings_rows(inner, depth + 1)


def _format_value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list):
        inner = [
            f"[{_format_value(one)}]" if isinstance(one, list) else _format_value(one)
            for one in value
        ]
        return ", ".join(inner) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
