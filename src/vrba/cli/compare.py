"""`vrba compare`: several policies on equal budgets, with several seeds."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, arg

from ..compare import (
    DEFAULT_SEEDS,
    ComparisonFolder,
    Made,
    as_json,
    compare_in_processes,
    resume_in_processes,
    text_of,
)
from ..core import precision
from ..report import PAGE
from ._base import DONE, FAILED, INTERRUPTED, AbstractCommand
from .comparison_flags import (
    DATA_HELP,
    POLICIES_HELP,
    case_and_flags,
    check_flags,
    dtype_of_flags,
    methods_in_flags,
    stored_case,
)
from .drawing import draw_report
from .flags import Assignments, Count, Folder, Minutes, Name, Only, Switch, Target
from .recipe import RecipeFlags
from .target import file_of, free_folder, name_of


@dataclasses.dataclass(frozen=True)
class Compare(AbstractCommand):
    """Compare policies on a problem, or on data for operators, with equal budgets.

    For a seed every method has the same network, points and time; only the policy
    differs. Runs go on side by side, each with its share of the machine.
    """

    target: Target = None
    data: Annotated[Name, arg(metavar="FILE|NAME", help=DATA_HELP)] = None
    policies: Annotated[Name, arg(metavar="A,B,C", help=POLICIES_HELP)] = None
    param: Assignments = ()
    recipe: OmitArgPrefixes[RecipeFlags] = RecipeFlags()
    scale: Name = None
    """With --data: size of generated data: paper, laptop or tiny."""
    model: Name = None
    """With --data: the network."""
    batch: Count = None
    """With --data: samples per step."""
    minutes: Minutes = None
    """Time limit of each run in minutes; 1 for a problem without --steps."""
    seed: int = 0
    """The first seed."""
    seeds: Count = None
    """Number of consecutive seeds, the same for every method (default: 5)."""
    jobs: Count = None
    """Number of runs at a time (default: as many as cores and memory allow)."""
    out: Folder = None
    """Folder of the comparison (default: runs/compare-NAME)."""
    resume: Folder = None
    """Make the missing runs of the comparison in this folder."""
    only: Only = None
    diagnose: float = 0.05
    """Fraction of the run time spent on diagnostics (0 disables them)."""
    json: Switch = False
    """Print the result as one JSON object, the last line."""
    debug: Switch = False
    """Show the traceback of an error."""

    @property
    def shows_traceback(self) -> bool:
        """`--debug`."""
        return self.debug

    def file(self) -> Path | None:
        """The target, if it is a file."""
        return file_of(self.target)

    def run(self) -> int:
        """Make the runs, print the result, write the page."""
        check_flags(self)
        with precision(dtype_of_flags(self)):
            made = self._begin() if self.resume is None else self._resume(self.resume)
        path = made.folder.path
        text = text_of(made.content) + f"\nSee {path / PAGE}.\n"
        if self.json:
            text = as_json(made.content | {"folder": str(path)}) + "\n"
        sys.stdout.write(text)
        sys.stdout.flush()
        draw_report(path, raises=self.debug)
        if not made.is_stopped:
            return FAILED if made.content["failures"] else DONE
        only = [] if self.only is None else ["--only", self.only]
        again = shlex.join(["vrba", "compare", "--resume", str(path), *only])
        sys.stderr.write(f"Stopped and saved. Resume with: {again}\n")
        return INTERRUPTED

    def _begin(self) -> Made:
        case, flags = case_and_flags(self)
        recipes = methods_in_flags(case, self.policies)
        target = self.data or self.target or ""
        name = name_of(target) if self.data is None else Path(target).stem
        out = self.out or free_folder(Path("runs") / f"compare-{name}")
        return compare_in_processes(
            case,
            recipes,
            ComparisonFolder(out),
            target=target,
            param=self.param,
            flags=flags,
            first_seed=self.seed,
            num_seeds=self.seeds or DEFAULT_SEEDS,
            jobs=self.jobs,
            only=self.only,
        )

    def _resume(self, path: Path) -> Made:
        case, target = stored_case(self, path), self.data or self.target
        how: dict[str, Any] = {"jobs": self.jobs, "only": self.only}
        how |= {"target": target, "num_seeds": self.seeds}
        return resume_in_processes(case, ComparisonFolder(path), **how)
