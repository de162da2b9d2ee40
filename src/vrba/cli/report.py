"""`vrba report`: a page about a run, or about several."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..compare import write_report
from ._base import DONE, AbstractFolderCommand, UsageError
from .flags import Folder

Runs = Annotated[
    Positional[tuple[Path, ...]],
    arg(metavar="RUN [RUN ...]", help="Folders of runs, or that of a comparison"),
]


@dataclasses.dataclass(frozen=True)
class Report(AbstractFolderCommand):
    """Write a page with figures about a run, also while it goes on.

    Several runs make a page that compares them. Prints where the page is.
    """

    runs: Runs = ()
    out: Folder = None
    """Where to write; the run's own folder unless given."""

    def run(self) -> int:
        """Draws and writes."""
        if not self.runs:
            raise UsageError("Give the folder of a run, as in `vrba report runs/demo`.")
        if len(self.runs) > 1 and self.out is None:
            raise UsageError("Say with `--out DIR` where to write the page of them.")
        sys.stdout.write(f"{write_report(self.runs, self.out)}\n")
        return DONE
