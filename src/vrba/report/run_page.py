"""What a page says of one run."""

from collections.abc import Iterator
from typing import Any

from ..core import format_duration
from ..diagnose import find_warnings
from .figures import figures_of
from .markup import Page, Picture, Section, code, escape, pairs, paragraph, table
from .measures import diagnosis_rows, error_rows
from .run import RunRecord


def page_of_run(run: RunRecord) -> Page:
    """Title, result, sections and figures of a page about one run."""
    status = run.result.get("status", "The run has not ended.")
    head = paragraph(run.sentence(), "result") + paragraph(status, "quiet")
    head += paragraph(run.complaint, "quiet") if run.complaint else ""
    sections = [Section("warnings", "Warnings", _warnings(run))]
    if errors := error_rows(run):
        sections.append(Section("accuracy", "Accuracy", table(errors)))
    if measured := list(diagnosis_rows(run)):
        sections.append(Section("diagnosis", "Diagnosis", pairs(measured)))
    sections += [
        Section("cost", "Cost", pairs(_cost(run))),
        Section("reproduce", "Do it again", _again(run)),
        Section("recipe", "Recipe", pairs(settings_rows(run.about))),
    ]
    pictures = [
        Picture(one.name, one.title, one.caption, found)
        for one, found in figures_of(run)
    ]
    return Page(f"{run.name}: {run.path.resolve().name}", head, sections, pictures)


def settings_rows(values: Any, depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """Nested settings as depth, name and value; of an object its class is the value."""
    skipped = ("class", "code", "command", "format", "frame", "program", "source")
    for name, value in values.items():
        if name in skipped:
            continue
        inner = value if isinstance(value, dict) else {}
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            inner = {str(place + 1): one for place, one in enumerate(value)}
        if not inner:
            yield depth, str(name), _shown(value)
            continue
        yield depth, str(name), str(inner.get("class", ""))
        yield from settings_rows(inner, depth + 1)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list):
        inner = lambda one: f"[{_shown(one)}]" if isinstance(one, list) else _shown(one)
        return ", ".join(map(inner, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _warnings(run: RunRecord) -> str:
    found = find_warnings(run.record)
    if not found:
        looked = sum(entry.get("snr") is not None for entry in run.record)
        return paragraph(
            f"No warnings, from {len(run.record)} entries of the log, {looked} of them "
            "with diagnostics."
        )
    return "".join(
        f'<div class="warning"><b>{escape(one.text)}</b> (step {one.step}) '
        f"{escape(one.advice)}</div>\n"
        for one in found
    )


def _again(run: RunRecord) -> str:
    command = run.command()
    if command is None:
        return paragraph("The run was made by a program; its settings are below.")
    return code(command)


def _cost(run: RunRecord) -> Iterator[tuple[int, str, str]]:
    seconds, step = run.seconds, run.step
    yield 0, "time", f"{seconds:.1f} s ({format_duration(seconds)})"
    yield 0, "steps", f"{step:,}"
    if step:
        yield 0, "time a step", f"{seconds / step:.3g} s"
    spent = run.diagnose_seconds
    if spent is not None and seconds > 0:
        share = 100 * spent / seconds
        yield 0, "diagnostics", f"{spent:.1f} s, {share:.1f} % of the time"
    if "num_params" in run.about:
        yield 0, "parameters", f"{run.about['num_params']:,}"
    if run.about.get("weights_bytes"):
        yield 0, "memory of the weights", f"{run.about['weights_bytes'] / 1e6:.3g} MB"
    program = run.about.get("program")
    for name, value in program.items() if isinstance(program, dict) else ():
        yield 0, str(name), _shown(value)
