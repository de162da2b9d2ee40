"""The interface of a figure, and figures as files."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ...core import write_atomically
from ...runs import RunRecord
from .. import figures

_DPI = 120


class RunFigure(NamedTuple):
    """A figure on the page of a run.

    `place` orders the figures, `name` is the file name, and `caption` says how to read
    the figure. `plot` returns None if the run has no data for it.
    """

    place: int
    name: str
    title: str
    caption: str
    plot: Callable[[RunRecord], Figure | None]


def figures_of(run: RunRecord) -> list[tuple[RunFigure, Figure]]:
    """Draw every figure that the run has data for, in the order of the page."""
    known = [one for one in vars(figures).values() if isinstance(one, RunFigure)]
    drawn = [(one, one.plot(run)) for one in sorted(known, key=lambda one: one.place)]
    return [(one, figure) for one, figure in drawn if figure is not None]


def write_figures(run: RunRecord | str | os.PathLike[str]) -> list[Path]:
    """Write all figures of a run as PNG files into its folder `figures`."""
    if not isinstance(run, RunRecord):
        run = RunRecord.read(run)
    folder = run.path / "figures"
    return [
        write_figure(figure, folder / f"{one.name}.png")
        for one, figure in figures_of(run)
    ]


def write_figure(figure: Figure, path: Path) -> Path:
    """Write a figure atomically as a PNG file."""
    buffer = io.BytesIO()
    figure.set_dpi(_DPI)
    FigureCanvasAgg(figure).print_png(buffer)  # `savefig` would draw twice
    write_atomically(path, buffer.getvalue())
    return path
