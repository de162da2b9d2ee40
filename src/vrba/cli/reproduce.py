"""`vrba reproduce`: tables and figures of the paper, beside the published errors."""

import dataclasses
import shlex
import sys
from typing import Annotated

from typing_extensions import override
from tyro.conf import Positional, arg

from ..compare import as_json, listed
from ..paper import ALL, known_items, reproduce
from ._base import DONE, FAILED, INTERRUPTED, AbstractCommand, UsageError
from .flags import Count, Folder, Switch
from .output import print_result

_ITEMS = f"{listed(known_items())}, or {ALL}"


@dataclasses.dataclass(frozen=True)
class Reproduce(AbstractCommand):
    """Reproduce a table or a figure of Toscano et al. (2025), with fair baselines.

    Experiments that several of them show are made once. The same command continues a
    stopped reproduction; more seeds are added to what is there.
    """

    item: Annotated[
        Positional[str | None],
        arg(metavar="[TABLE|FIGURE]", help=_ITEMS, help_behavior_hint=""),
    ] = None
    scale: Annotated[
        str, arg(help="paper (hours to days per row), laptop (minutes), tiny (seconds)")
    ] = "laptop"
    seeds: int = 1
    """Number of consecutive seeds, the same for every row."""
    jobs: Count = None
    """Number of runs at a time (default: as many as cores and memory allow)."""
    out: Folder = None
    """Folder of all results (default: runs/reproduce)."""
    only: Annotated[
        str | None,
        arg(
            metavar="A,B",
            help="Make runs of these methods or experiments only; given both, of "
            "these methods of these experiments. Other results are kept.",
            help_behavior_hint="",
        ),
    ] = None
    table: Switch = False
    """Make no runs: only write tables and pages."""
    json: Switch = False
    """Print the results as one JSON object, the last line."""

    @override
    def run(self) -> int:
        if self.item is None:
            raise UsageError(f"Name a table or a figure to reproduce: {_ITEMS}.")
        if self.table and self.only is not None:
            raise UsageError(
                "`--table` makes no runs, and `--only` chooses them: leave one out."
            )
        found = reproduce(
            self.item,
            self.scale,
            self.seeds,
            jobs=self.jobs,
            out="runs/reproduce" if self.out is None else self.out,
            only=self.only,
            makes_runs=not self.table,
            raises=self.debug,
        )
        text = str(found)
        if self.json:
            content = {"folder": str(found.folder), "items": found.results}
            text = as_json(content)
        print_result(text.rstrip("\n"))
        if found.is_stopped:
            again = shlex.join(["vrba", *self.words])
            sys.stderr.write(f"Stopped and saved. Resume with: {again}\n")
            return INTERRUPTED
        return FAILED if found.has_failures else DONE
