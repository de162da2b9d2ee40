"""`vrba report`: a page about a run, or about several."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..report import write_report
from ._base import DONE, AbstractCommand, UsageError
from .flags import Folder, Switch

Runs = Annotated[
    Positional[tuple[Path, ...]],
    arg(metavar="RUN [RUN ...]", help="Folders of runs, or that of a comparison"),
]


@dataclasses.dataclass(frozen=True)
class Report(AbstractCommand):
    """Write a page with figures about a run, also while it goes on.

    Several runs make a page that compares them. Prints where the page is.
    """

    runs: Runs = ()
    out: Folder = None
    """Where to write; the run's own folder unless given."""
    debug: Switch = False
    """Show errors in full."""

    @property
    def shows_traceback(self) -> bool:
        """As asked."""
        return self.debug

    def file(self) -> Path | None:
        """None is asked for."""
        return None

    def run(self) -> int:
        """Draws and writes."""
        if not self.runs:
            raise UsageError("Give the folder of a run, as in `vrba report runs/demo`.")
        if len(self.runs) > 1 and self.out is None:
            raise UsageError("Say with `--out DIR` where to write the page of them.")
        sys.stdout.write(f"{write_report(self.runs, self.out)}\n")
        return DONE
