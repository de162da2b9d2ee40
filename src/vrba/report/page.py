"""One page about a run, or about several: a file that needs nothing else."""

import os
from pathlib import Path
from typing import Any

from ..core import InputError, write_atomically
from .figures import write_figure
from .markup import PAGE, Page, Section, figure, fill, links, paragraph, section
from .run import RunRecord
from .run_page import page_of_run
from .svg import panels_as_svg

Folder = str | os.PathLike[str]


def write_run_report(run: Any, out: Folder | None = None) -> Path:
    """Write `report.html` and `figures/` of a run into its folder, or into `out`.

    `run` is a run folder, a `RunRecord`, or a solution that has a folder. Returns the
    path of the page.
    """
    record = run if isinstance(run, RunRecord) else RunRecord.read(folder_of(run))
    return write_page(page_of_run(record), Path(out or record.path))


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


def write_page(page: Page, out: Path) -> Path:
    """Write the figures as PNG, and the page with all of them inside."""
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
