"""One page about a run, or about several: a file that needs nothing else."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import InputError, write_atomically
from .comparison_page import page_of_comparison
from .exhibit import page_of_exhibit
from .figures import write_figure
from .markup import PAGE, Page, Section, figure, fill, links, paragraph, section
from .run import RunRecord
from .run_page import page_of_run
from .several import FILE, ComparisonRecord
from .svg import panels_as_svg

Folder = str | os.PathLike[str]


def write_report(run: Any, out: Folder | None = None) -> Path:
    """Writes `report.html` and `figures/` of a run into its folder, or into `out`.

    `run` is a run folder, a `RunRecord`, a solution that has a folder, or the folder of
    a comparison. A list of runs makes one page that compares them, into `out`. Returns
    the path of the page.
    """
    if isinstance(run, list | tuple):
        return _write_several(run, out)
    path = folder_of(run)
    if not isinstance(run, RunRecord) and (path / FILE).exists():
        return _compare(ComparisonRecord.read(path), Path(out or path))
    record = run if isinstance(run, RunRecord) else RunRecord.read(path)
    return _write(page_of_run(record), Path(out or path))


def write_exhibit(
    content: Mapping[str, Any],
    comparisons: Sequence[Folder],
    pictures: Sequence[str],
    out: Folder,
) -> Path:
    """Writes the page of a table or a figure of a paper into `out`: `content` has its
    rows, `comparisons` are the folders they are from, of which `pictures` are shown."""
    found = {str(path): ComparisonRecord.read(path) for path in comparisons}
    return _write(page_of_exhibit(content, found, pictures, Path(out)), Path(out))


def folder_of(run: Any) -> Path:
    """The folder of whatever stands for a run."""
    if isinstance(run, RunRecord):
        return run.path
    path = getattr(run, "run", run)  # a solution knows its folder
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            "A report is made of the folder of a run: give its path, or solve with "
            f"`run=`; got {type(run).__name__} without one."
        )
    return Path(path)


def _write_several(runs: Sequence[Any], out: Folder | None) -> Path:
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
    return _compare(ComparisonRecord.of_runs(records), Path(out))


def _compare(comparison: ComparisonRecord, out: Path) -> Path:
    return _write(page_of_comparison(comparison, out), out)


def _write(page: Page, out: Path) -> Path:
    """Figures as PNG, and the page with all of them inside."""
    shown = ""
    for one in page.pictures:
        write_figure(one.figure, out / "figures" / f"{one.name}.png")
        panels = panels_as_svg(one.figure, one.name)
        shown += figure(one.name, one.title, panels, one.caption)
    if not shown:
        shown = paragraph("Nothing was logged yet that could be drawn.")
    first, *others = page.sections
    sections = [first, Section("figures", "Figures", shown), *others]
    text = fill(
        title=page.title,
        head=page.head,
        links=links({part.title: f"#{part.name}" for part in sections}),
        content="".join(section(*part) for part in sections),
    )
    write_atomically(out / PAGE, text.encode())
    return out / PAGE
