"""`vrba compare`: several policies on equal budgets, with several seeds."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, arg

from ..compare import known_policies, known_problems, listed, pick_some
from ..core import is_same, precision
from ..data import open_pairs
from ..report.markup import PAGE
from ..train.train_operator import is_same_data
from ._base import (
    DONE,
    FAILED,
    INTERRUPTED,
    AbstractCommand,
    UsageError,
    check_seeds,
    check_share,
)
from .arms import Settings
from .children import run_all
from .comparison import ComparisonFolder, text_of
from .data import known_makers
from .drawing import draw_report
from .flags import Assignments, Count, Folder, Minutes, Name, Only, Switch, Target
from .machine import choose_jobs, share_of_cores
from .operator_recipe import OperatorFlags, data_file, is_data, known_arms
from .outcome import as_json
from .recipe import RecipeFlags, dtype_asked
from .subjects import AbstractSubject, Equation, Pairing, recipes_of
from .target import file_of, free_folder, name_of
from .watcher import Watcher

_MINUTES = 1.0  # for each run, if neither time nor steps are given
_SEEDS = 5


@dataclasses.dataclass(frozen=True)
class Compare(AbstractCommand):
    """Solve a problem, or train an operator, with several policies, fairly: every arm
    has the same network and budget for a seed, and but for a published baseline the
    same optimizer.

    Runs go on side by side, each with its share of the machine.
    """

    target: Annotated[
        Target,
        arg(
            help="FILE.py or a problem by name; for operators a file of pairs (.h5, "
            f".npz, .mat) or {listed(known_makers())}",
        ),
    ] = None
    policies: Annotated[
        str | None,
        arg(
            metavar="A,B,C",
            help=f"POLICY or POLICY:POTENTIAL: {listed(known_policies())}; for "
            f"operators {', '.join(known_arms())}",
            help_behavior_hint="",
        ),
    ] = None
    param: Assignments = ()
    recipe: OmitArgPrefixes[RecipeFlags] = RecipeFlags()
    scale: Name = None
    """For operators: paper, laptop or tiny, of data that are made."""
    model: Name = None
    """For operators: the network."""
    batch: Count = None
    """For operators: samples in a step."""
    minutes: Minutes = None
    """Minutes at most for each run; for a problem without `--steps` one."""
    seed: int = 0
    """The first seed."""
    seeds: Count = None
    """So many seeds, the same for every arm; 5 unless given. With `--resume` as many as
    there were, or more."""
    jobs: Count = None
    """Runs at a time; as many as there are cores and memory for if not given."""
    out: Folder = None
    """The folder, runs/compare-NAME unless given."""
    resume: Folder = None
    """Finish what is missing in such a folder."""
    only: Only = None
    diagnose: float = 0.05
    """Share of the time for looking at gradients, residuals and weights; 0 for none."""
    json: Switch = False
    """Print the result as one JSON object, the last line."""
    debug: Switch = False
    """Show errors in full."""

    @property
    def shows_traceback(self) -> bool:
        """As asked."""
        return self.debug

    def file(self) -> Path | None:
        """The target, if it is one."""
        return file_of(self.target)

    def run(self) -> int:
        """Solves with all arms and seeds, tells, draws."""
        done = carry_out(self)
        _tell(self, done.content, done.folder)
        draw_report(done.folder.path, raises=self.debug)
        if done.is_stopped:
            words = ["vrba", "compare", "--resume", str(done.folder.path)]
            words += [] if self.only is None else ["--only", self.only]
            again = shlex.join(words)
            sys.stderr.write(f"Stopped, and all is saved. To go on: {again}\n")
            return INTERRUPTED
        return FAILED if done.content["failures"] else DONE


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a comparison has come to; it may have been stopped."""

    folder: ComparisonFolder
    content: dict[str, Any]
    is_stopped: bool


def carry_out(flags: Compare) -> Outcome:
    """Makes all runs that are missing."""
    _check(flags)
    plan = _new(flags) if flags.resume is None else _resumed(flags, flags.resume)
    folder, settings = ComparisonFolder(plan.out), plan.settings
    only = pick_some("arm", flags.only, settings.arms)
    describe = plan.subject.describe()
    watcher, is_stopped = Watcher(folder, settings), False
    watcher.recall(only)
    folder.write(settings, describe, watcher.failures)
    try:
        tasks = watcher.tasks(only)
        watcher.begin(describe["name"], tasks, plan.jobs)
        is_stopped = run_all(
            tasks,
            jobs=plan.jobs,
            num_threads=settings.num_threads,
            on_end=watcher.on_end,
            on_look=watcher.on_look,
        )
    finally:
        watcher.board.close()
        content = folder.write(settings, describe, watcher.failures)
    return Outcome(folder, content, is_stopped)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """A comparison that is about to begin, or to go on."""

    settings: Settings
    subject: AbstractSubject
    out: Path
    jobs: int


def _check(flags: Compare) -> None:
    """Refuses flags that do not fit."""
    check_share(flags.diagnose)
    given = {"--policy": flags.recipe.policy, "--potential": flags.recipe.potential}
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"`{name} {value}` would be the same in every arm: write it into "
                "`--policies`, as in uniform,default:exponential."
            )
    check_seeds(flags.seed, flags.seeds if flags.seeds is not None else _SEEDS)
    if flags.jobs is not None and flags.jobs < 1:
        raise UsageError(f"`--jobs` must be at least 1, got {flags.jobs}.")
    if flags.minutes is not None and not flags.minutes > 0:
        raise UsageError(f"`--minutes` must be positive, got {flags.minutes:g}.")
    if flags.resume is None and flags.target is None:
        raise UsageError(
            "Give a problem to solve: FILE.py, or one of "
            f"{listed(known_problems())}; or go on with `--resume DIR`."
        )
    if flags.out is not None and ComparisonFolder(flags.out).file.exists():
        raise UsageError(
            f"`{flags.out}` already holds a comparison: go on with `--resume "
            f"{flags.out}`, or choose another folder."
        )
    if flags.resume is not None:
        kept = ("target", "resume", "only", "jobs", "seeds", "json", "debug", "words")
        own = Compare(**{name: getattr(flags, name) for name in kept})
        if own != flags:
            raise UsageError(
                "`--resume` goes on with the settings of the comparison: only TARGET, "
                "`--only`, `--jobs`, `--seeds` and `--json` can be given with it."
            )


def settings_of(flags: Compare) -> Settings:
    """What a new comparison would be asked for."""
    return _new(flags).settings


def _new(flags: Compare) -> _Plan:
    minutes, target = flags.minutes, flags.target or ""
    with precision(dtype_asked(flags.recipe.dtype, flags.recipe.recipe)):
        subject = _subject(flags, target)
        if subject.command == "solve" and (minutes, flags.recipe.steps) == (None, None):
            minutes = _MINUTES
        recipes = recipes_of(subject, flags.policies, minutes)
        most = max(map(subject.bytes_of, recipes.values()))
    name = Path(target).stem if subject.command == "train" else name_of(target)
    out = flags.out or free_folder(Path("runs") / f"compare-{name}")
    num_seeds = flags.seeds or _SEEDS
    jobs = flags.jobs or choose_jobs(num_seeds * len(recipes), most)
    given = subject.flags | {"minutes": minutes}
    if subject.command == "solve":
        given |= {"diagnose": flags.diagnose}
    settings = Settings(
        subject.command,
        target,
        flags.param,
        tuple(recipes),
        flags.seed,
        num_seeds,
        {name: value for name, value in given.items() if value is not None},
        share_of_cores(jobs),
    )
    return _Plan(settings, subject, out, jobs)


def _subject(flags: Compare, target: str) -> AbstractSubject:
    """What is compared; flags that are for the other kind are refused."""
    own = {name: getattr(flags, name) for name in ("scale", "model", "batch")}
    both = ("steps", "resample_every", "dtype")
    given = dataclasses.asdict(flags.recipe)
    if is_data(target, flags.scale):
        others = {name: v for name, v in given.items() if name not in both}
        others |= {"param": flags.param or None}
        if flags.diagnose != Compare.diagnose:
            others["diagnose"] = flags.diagnose
        _refuse(others, f"problems, and `{target}` is data")
        scale = own.pop("scale")
        shared = {name: given[name] for name in both}
        pairs = open_pairs(data_file(target, scale))
        return Pairing(pairs, target, scale, OperatorFlags(**own, **shared))
    _refuse(own, f"operators, and `{target}` is a problem")
    return Equation(target, flags.param, flags.recipe)


def _refuse(flags: dict[str, Any], what: str) -> None:
    for name, value in flags.items():
        if value is not None:
            raise UsageError(f"`--{name}` is for {what}: leave it out.")


def _resumed(flags: Compare, out: Path) -> _Plan:
    """As it was; also the threads of a run, on which its rounding may depend."""
    settings, described = ComparisonFolder(out).read()
    if flags.target is not None:
        settings = dataclasses.replace(settings, target=flags.target)
    if flags.seeds is not None:
        if flags.seeds < settings.num_seeds:
            raise UsageError(
                f"`--seeds {flags.seeds}` is less than the {settings.num_seeds} of "
                f"`{out}`: leave it out, or give more."
            )
        settings = dataclasses.replace(settings, num_seeds=flags.seeds)
    asked = (settings.flags.get("dtype"), settings.flags.get("recipe"))
    with precision(dtype_asked(*asked)):
        if settings.command == "train":
            scale = settings.flags.get("scale")
            pairs = open_pairs(data_file(settings.target, scale))
            subject = Pairing(pairs, settings.target, scale, OperatorFlags())
        else:
            subject = Equation(settings.target, settings.param, RecipeFlags())
    is_alike = is_same_data if settings.command == "train" else is_same
    if not is_alike(described, json.loads(as_json(subject.describe()))):
        raise UsageError(
            f"`{settings.target}` has changed since `{out}` was begun: arms would not "
            "have had the same to do. Begin a new comparison."
        )
    jobs = flags.jobs or max(1, share_of_cores(settings.num_threads))
    return _Plan(settings, subject, out, jobs)


def _tell(flags: Compare, content: dict[str, Any], folder: ComparisonFolder) -> None:
    """The result on standard output."""
    text = text_of(content) + f"\nSee {folder.path}, above all {PAGE}.\n"
    if flags.json:
        text = as_json(content | {"folder": str(folder.path)}) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()
