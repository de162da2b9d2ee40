"""`vrba report` and `vrba watch`: run folders as a page, and in the terminal."""

import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import Annotated

from typing_extensions import override
from tyro.conf import Positional, arg

from ._base import DONE, AbstractCommand, UsageError
from .flags import Folder, Switch

Runs = Annotated[
    Positional[tuple[Path, ...]],
    arg(metavar="RUN [RUN ...]", help="Run folders, or the folder of a comparison"),
]
Run = Annotated[
    Positional[Path | None],
    arg(metavar="[RUN]", help="The run folder", help_behavior_hint=""),
]


@dataclasses.dataclass(frozen=True)
class Report(AbstractCommand):
    """Write an HTML page with the figures of a run, finished or not.

    Several runs are compared on one page. Prints the path of the page.
    """

    runs: Runs = ()
    out: Folder = None
    """Output folder (default: the run folder)."""

    @override
    def run(self) -> int:
        from ..compare import write_report  # imports matplotlib

        if not self.runs:
            raise UsageError("Give a run folder, as in `vrba report runs/demo`.")
        if len(self.runs) > 1 and self.out is None:
            raise UsageError("Give `--out DIR`, the output folder for several runs.")
        sys.stdout.write(f"{write_report(self.runs, self.out)}\n")
        return DONE


@dataclasses.dataclass(frozen=True)
class Watch(AbstractCommand):
    """Show the curves of a run in the terminal while it trains elsewhere.

    Ends with the run, or with Ctrl-C, which does not stop the run.
    """

    folder: Run = None
    once: Switch = False
    """Print the curves once, as if the output were not a terminal."""

    @override
    def run(self) -> int:
        from ..report import watch  # imports matplotlib

        if self.folder is None:
            raise UsageError("Give a run folder, as in `vrba watch runs/demo`.")
        with contextlib.suppress(KeyboardInterrupt):  # the usual way to leave
            watch(self.folder, once=self.once)
        return DONE
