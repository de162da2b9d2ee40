"""Figures as files."""

import io
import os
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ...core import write_atomically
from .. import figures
from ..run import RunRecord
from ._base import RunFigure

_DPI = 120


def figures_of(run: RunRecord) -> list[tuple[RunFigure, Figure]]:
    """All figures that there is something to show in, in the order of a page."""
    known = [one for one in vars(figures).values() if isinstance(one, RunFigure)]
    drawn = [(one, one.plot(run)) for one in sorted(known, key=lambda one: one.place)]
    return [(one, figure) for one, figure in drawn if figure is not None]


def write_figures(run: RunRecord | str | os.PathLike[str]) -> list[Path]:
    """Draws all figures of a run into its folder `figures`."""
    if not isinstance(run, RunRecord):
        run = RunRecord.read(run)
    folder = run.path / "figures"
    return [
        write_figure(figure, folder / f"{one.name}.png")
        for one, figure in figures_of(run)
    ]


def write_figure(figure: Figure, path: Path) -> Path:
    """A figure as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    figure.set_dpi(_DPI)
    FigureCanvasAgg(figure).print_png(buffer)  # `savefig` would draw twice
    write_atomically(path, buffer.getvalue())
    return path
