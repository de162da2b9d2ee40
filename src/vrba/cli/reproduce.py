"""`vrba reproduce`: tables and figures of the paper, beside what was published."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from ..core import write_atomically
from ..report import exhibit_text, write_exhibit
from . import paper
from ._base import DONE, FAILED, INTERRUPTED, AbstractFolderCommand, UsageError
from .compare import Compare, Outcome, carry_out
from .comparison import ComparisonFolder
from .drawing import draw_report
from .flags import Count, Folder, Switch
from .names import listed, pick
from .outcome import as_json
from .paper import Exhibit, Experiment
from .paper.result import result_of
from .recipe import RecipeFlags

_ALL = "all"


def known_exhibits() -> dict[str, Exhibit]:
    """Tables and figures by name."""
    found = [value for value in vars(paper).values() if isinstance(value, Exhibit)]
    return {exhibit.name: exhibit for exhibit in found}


def known_scales() -> dict[str, str]:
    """How large an experiment can be made."""
    return {scale: scale for scale in paper.SCALES}


@dataclasses.dataclass(frozen=True)
class Reproduce(AbstractFolderCommand):
    """Make a table or a figure of Toscano et al. (2025) again, with fair baselines.

    Experiments that several of them show are made once. What was stopped goes on by the
    same command; more seeds are added to what is there.
    """

    exhibit: Annotated[
        Positional[str | None],
        arg(
            metavar="[EXHIBIT]",
            help=f"{listed(known_exhibits())}, or {_ALL}",
            help_behavior_hint="",
        ),
    ] = None
    scale: Annotated[
        str, arg(help="paper (hours), laptop (minutes a row) or tiny (seconds)")
    ] = "laptop"
    seeds: int = 1
    """So many seeds, the same for every row."""
    jobs: Count = None
    """Runs at a time; as many as there are cores and memory for if not given."""
    out: Folder = None
    """Where all of it is, runs/reproduce unless given."""
    table: Switch = False
    """Make no runs: only write tables and pages of what is there."""
    json: Switch = False
    """Print the results as one JSON object, the last line."""

    def run(self) -> int:
        """Makes what is missing, then tables and pages."""
        exhibits, scale = _asked(self)
        out = (self.out or Path("runs/reproduce")) / scale
        done: dict[str, Outcome] = {}
        for experiment in _experiments(exhibits):
            done[experiment.name] = self._made(experiment, scale, out)
            if done[experiment.name].is_stopped:
                words = [word for word in self.words if word != "--table"]
                again = shlex.join(["vrba", *words])
                sys.stderr.write(f"Stopped, and all is saved. To go on: {again}\n")
                return INTERRUPTED
        if not any(outcome.folder.file.exists() for outcome in done.values()):
            raise UsageError(f"There is nothing in `{out}` to make a table of.")
        results = [_written(exhibit, scale, out, done) for exhibit in exhibits]
        if self.json:
            told = as_json({"folder": str(out), "exhibits": results}) + "\n"
        else:
            told = "\n".join(f"{exhibit_text(one)}\n" for one in results)
            told += f"See {out}.\n"
        sys.stdout.write(told)
        failed = any(outcome.content["failures"] for outcome in done.values())
        return FAILED if failed else DONE

    def _made(self, experiment: Experiment, scale: str, out: Path) -> Outcome:
        """The comparison of an experiment, begun or gone on with."""
        folder = out / experiment.name
        outcome = _compared(experiment, scale, folder, self)
        if not self.table:
            draw_report(folder, raises=self.debug)
        return outcome


def _asked(flags: Reproduce) -> tuple[list[Exhibit], str]:
    """What is to be made; refuses what there is not."""
    known, name = known_exhibits(), flags.exhibit
    if name is None:
        raise UsageError(f"Say what to make again: {listed(known)}, or {_ALL}.")
    if flags.seeds < 1:
        raise UsageError(f"`--seeds` must be at least 1, got {flags.seeds}.")
    if flags.jobs is not None and flags.jobs < 1:
        raise UsageError(f"`--jobs` must be at least 1, got {flags.jobs}.")
    scale = pick("scale", flags.scale, known_scales())
    if name.casefold() == _ALL:
        return list(known.values()), scale
    return [pick("table or figure", name, known, f" All of them: {_ALL}.")], scale


def _experiments(exhibits: list[Exhibit]) -> list[Experiment]:
    """Each once, in order."""
    found = {one.name: one for exhibit in exhibits for one in exhibit.experiments}
    return list(found.values())


def _compared(
    experiment: Experiment, scale: str, folder: Path, flags: Reproduce
) -> Outcome:
    there = ComparisonFolder(folder)
    if flags.table:
        if not there.file.exists():
            return Outcome(there, {"failures": {}}, False)
        settings, problem = there.read()
        return Outcome(there, there.write(settings, problem, {}), False)
    shared: dict[str, Any] = {"jobs": flags.jobs, "debug": flags.debug}
    if there.file.exists():
        settings, _ = there.read()
        shared["seeds"] = max(flags.seeds, settings.num_seeds)
        return carry_out(Compare(resume=folder, **shared))
    given = dict(experiment.scales[scale])
    own = {field.name for field in dataclasses.fields(RecipeFlags)}
    recipe = RecipeFlags(**{name: given.pop(name) for name in own & set(given)})
    return carry_out(
        Compare(
            experiment.target,
            ",".join(arm.word for arm in experiment.arms),
            experiment.settings,
            recipe,
            seeds=flags.seeds,
            out=folder,
            **given,
            **shared,
        )
    )


def _written(
    exhibit: Exhibit, scale: str, out: Path, done: dict[str, Outcome]
) -> dict[str, Any]:
    """Result, table and page of one exhibit, in a folder of its own."""
    contents = {one.name: done[one.name].content for one in exhibit.experiments}
    result = result_of(exhibit, scale, contents)
    folder = out / exhibit.name
    folder.mkdir(parents=True, exist_ok=True)
    text = as_json(result, indent=1) + "\n"
    write_atomically(folder / "result.json", text.encode())
    write_atomically(folder / "table.md", exhibit_text(result).encode())
    folders = [done[one.name].folder for one in exhibit.experiments]
    sources = [found.path for found in folders if found.file.exists()]
    write_exhibit(result, sources, exhibit.pictures, folder)
    return result
