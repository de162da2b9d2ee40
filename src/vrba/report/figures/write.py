"""The figures of a run, as files."""

import io
import os
from pathlib import Path

import numpy as np

from ...core import write_atomically
from .solution import plot_solution


def write_figures(run: str | os.PathLike[str]) -> list[Path]:
    """Draws what the run folder holds into its folder `figures`."""
    with np.load(Path(run) / "fields.npz", allow_pickle=False) as file:
        fields = {name: file[name] for name in file.files}
    buffer = io.BytesIO()
    plot_solution(fields).savefig(buffer, format="png", dpi=120)
    path = Path(run) / "figures" / "solution.png"
    write_atomically(path, buffer.getvalue())
    return [path]
