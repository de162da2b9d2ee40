"""Figures as files."""

import io
import os
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ...core import write_atomically
from .solution import plot_solution


def write_figures(run: str | os.PathLike[str]) -> list[Path]:
    """Draws what the run folder holds into its folder `figures`."""
    with np.load(Path(run) / "fields.npz", allow_pickle=False) as file:
        fields = {name: file[name] for name in file.files}
    path = Path(run) / "figures" / "solution.png"
    return [write_figure(plot_solution(fields), path)]


def write_figure(figure: Figure, path: Path) -> Path:
    """A figure as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_atomically(path, buffer.getvalue())
    return path
