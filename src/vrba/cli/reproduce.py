"""`vrba reproduce`: tables and figures of the paper, beside what was published."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from ..compare import listed, pick, pick_some
from ..core import write_atomically
from ..report import exhibit_text, write_exhibit
from . import paper
from ._base import DONE, FAILED, INTERRUPTED, AbstractFolderCommand, UsageError
from .arms import Settings
from .compare import Compare, Outcome, carry_out, settings_of
from .comparison import ComparisonFolder
from .drawing import draw_report
from .flags import Count, Folder, Switch
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
        str, arg(help="paper (hours to days a row), laptop (minutes) or tiny (seconds)")
    ] = "laptop"
    seeds: int = 1
    """So many seeds, the same for every row."""
    jobs: Count = None
    """Runs at a time; as many as there are cores and memory for if not given."""
    out: Folder = None
    """Where all of it is, runs/reproduce unless given."""
    only: Annotated[
        str | None,
        arg(
            metavar="A,B",
            help="Make runs of these arms only, or of these experiments; given both, "
            "of these arms of these experiments. What others have come to stays.",
            help_behavior_hint="",
        ),
    ] = None
    table: Switch = False
    """Make no runs: only write tables and pages of what is there."""
    json: Switch = False
    """Print the results as one JSON object, the last line."""

    def run(self) -> int:
        """Makes what is missing, then tables and pages."""
        exhibits, scale = _asked(self)
        out = (self.out or Path("runs/reproduce")) / scale
        experiments = _experiments(exhibits)
        chosen = _chosen(experiments, self.only)
        done: dict[str, Outcome] = {}
        is_stopped = False
        for experiment in experiments:
            folder = out / experiment.name
            arms = chosen[experiment.name]
            if is_stopped or self.table or not arms:
                outcome = _as_it_is(ComparisonFolder(folder))
            else:
                outcome = _compared(experiment, scale, folder, arms, self)
            is_stopped |= outcome.is_stopped
            done[experiment.name] = outcome
        if not any(outcome.folder.file.exists() for outcome in done.values()):
            raise UsageError(f"There is nothing in `{out}` to make a table of.")
        results = [_written(exhibit, scale, out, done) for exhibit in exhibits]
        _tell(self, results, out)
        if is_stopped:
            again = shlex.join(["vrba", *self.words])
            sys.stderr.write(f"Stopped, and all is saved. To go on: {again}\n")
        _draw(exhibits, results, out, done, raises=self.debug)
        if is_stopped:
            return INTERRUPTED
        failed = any(outcome.content["failures"] for outcome in done.values())
        return FAILED if failed else DONE


def _asked(flags: Reproduce) -> tuple[list[Exhibit], str]:
    """What is to be made; refuses what there is not."""
    known, name = known_exhibits(), flags.exhibit
    if name is None:
        raise UsageError(f"Say what to make again: {listed(known)}, or {_ALL}.")
    if flags.seeds < 1:
        raise UsageError(f"`--seeds` must be at least 1, got {flags.seeds}.")
    if flags.jobs is not None and flags.jobs < 1:
        raise UsageError(f"`--jobs` must be at least 1, got {flags.jobs}.")
    if flags.table and flags.only is not None:
        raise UsageError(
            "`--table` makes no runs, and `--only` says which are made: leave one out."
        )
    scale = pick("scale", flags.scale, known_scales())
    if name.casefold() == _ALL:
        return list(known.values()), scale
    return [pick("table or figure", name, known, f" All of them: {_ALL}.")], scale


def _experiments(exhibits: list[Exhibit]) -> list[Experiment]:
    """Each once, in order."""
    found = {one.name: one for exhibit in exhibits for one in exhibit.experiments}
    return list(found.values())


def _chosen(experiments: list[Experiment], only: str | None) -> dict[str, list[str]]:
    """Arms whose runs are made, by experiment: those that are named, or all, of
    experiments that are named, or of all."""
    known = {one.name: [arm.word for arm in one.arms] for one in experiments}
    words = dict.fromkeys(word for arms in known.values() for word in arms)
    said = set(pick_some("arm or experiment", only, [*words, *known]))
    arms, names = said & set(words) or set(words), said & set(known) or set(known)
    there = {word for name in names for word in known[name]}
    if missing := said & set(words) - there:
        have = [f"{name} has {listed(known[name])}" for name in known if name in names]
        raise UsageError(
            f"`--only` names {listed(missing)}, which no experiment that it names has: "
            f"{'; '.join(have)}."
        )
    return {
        name: [word for word in each if word in arms and name in names]
        for name, each in known.items()
    }


def _compared(
    experiment: Experiment,
    scale: str,
    folder: Path,
    arms: list[str],
    flags: Reproduce,
) -> Outcome:
    """The comparison of an experiment: begun, or gone on with."""
    there = ComparisonFolder(folder)
    given = dict(experiment.scales[scale])
    own = {field.name for field in dataclasses.fields(RecipeFlags)}
    recipe = RecipeFlags(**{name: given.pop(name) for name in own & set(given)})
    words = ",".join(arm.word for arm in experiment.arms)
    shared: dict[str, Any] = {"jobs": flags.jobs, "debug": flags.debug}
    shared["only"] = ",".join(arms)
    wanted = Compare(
        experiment.target,
        words,
        experiment.settings,
        recipe,
        seeds=flags.seeds,
        out=folder,
        **given,
        **shared,
    )
    if not there.file.exists():
        return carry_out(wanted)
    (settings, problem), asked = there.read(), settings_of(wanted)
    _check_same(settings, asked, folder)
    if set(settings.arms) < set(asked.arms):
        settings = dataclasses.replace(settings, arms=asked.arms)
        there.write(settings, problem, there.failures())
    shared["seeds"] = max(flags.seeds, settings.num_seeds)
    if shared["seeds"] > flags.seeds:
        sys.stderr.write(f"`{folder}` was begun with {shared['seeds']} seeds.\n")
    return carry_out(Compare(resume=folder, **shared))


def _check_same(there: Settings, wanted: Settings, folder: Path) -> None:
    """Refuses to go on with what was asked for otherwise; arms and seeds can be
    added."""
    for name in ("command", "target", "param", "arms", "flags"):
        old, new = getattr(there, name), getattr(wanted, name)
        is_other = not set(old) <= set(new) if name == "arms" else old != new
        if is_other:
            raise UsageError(
                f"`{folder}` was begun with other {name}, {old} and not {new}: choose "
                "another `--out`, or move it away."
            )


def _as_it_is(there: ComparisonFolder) -> Outcome:
    """What has ended so far; nothing is made."""
    if not there.file.exists():
        return Outcome(there, {"failures": {}}, False)
    settings, problem = there.read()
    return Outcome(there, there.write(settings, problem, there.failures()), False)


def _written(
    exhibit: Exhibit, scale: str, out: Path, done: dict[str, Outcome]
) -> dict[str, Any]:
    """Result and table of one exhibit, in a folder of its own."""
    contents = {one.name: done[one.name].content for one in exhibit.experiments}
    text = as_json(result_of(exhibit, scale, contents), indent=1) + "\n"
    result = json.loads(text)
    folder = out / exhibit.name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "result.json", text.encode())
    write_atomically(folder / "table.md", exhibit_text(result).encode())
    return result


def _tell(flags: Reproduce, results: list[dict[str, Any]], out: Path) -> None:
    """The results on standard output."""
    if flags.json:
        told = as_json({"folder": str(out), "exhibits": results}) + "\n"
    else:
        told = "\n".join(f"{exhibit_text(one)}\n" for one in results)
        told += f"See {out}.\n"
    sys.stdout.write(told)
    sys.stdout.flush()


def _draw(
    exhibits: list[Exhibit],
    results: list[dict[str, Any]],
    out: Path,
    done: dict[str, Outcome],
    *,
    raises: bool,
) -> None:
    """Pages of comparisons, then of exhibits; one that fails loses nothing else."""
    folders = {
        name: outcome.folder.path
        for name, outcome in done.items()
        if outcome.folder.file.exists()
    }
    for path in folders.values():
        draw_report(path, raises=raises)
    for exhibit, result in zip(exhibits, results, strict=True):
        names = [one.name for one in exhibit.experiments if one.name in folders]
        sources = [folders[name] for name in names]
        try:
            write_exhibit(result, sources, exhibit.pictures, out / exhibit.name)
        except Exception as error:
            if raises:
                raise
            told = f"{type(error).__name__}: {error}"
            sys.stderr.write(
                f"The page of {exhibit.name} could not be made ({told}).\n"
            )
