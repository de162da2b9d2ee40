"""`vrba watch`: the curves of a run that goes on elsewhere."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..report import watch
from ._base import DONE, AbstractFolderCommand, UsageError
from .flags import Switch

Run = Annotated[
    Positional[Path | None],
    arg(metavar="RUN", help="The folder of a run", help_behavior_hint=""),
]


@dataclasses.dataclass(frozen=True)
class Watch(AbstractFolderCommand):
    """Show the curves of a run in the terminal while it goes on elsewhere.

    Ends with the run, or with Ctrl-C, which does not stop the run.
    """

    folder: Run = None
    once: Switch = False
    """Print one picture; so it is too if the output is no terminal."""

    def run(self) -> int:
        """Looks until the run has ended."""
        if self.folder is None:
            raise UsageError("Give the folder of a run, as in `vrba watch runs/demo`.")
        with contextlib.suppress(KeyboardInterrupt):  # the usual way to leave
            watch(self.folder, once=self.once)
        return DONE
