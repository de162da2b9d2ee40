"""What a comparison consists of, and the interfaces of its parts."""

import abc
import dataclasses
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ..core import InputError

BASELINE = "uniform"
DEFAULT_MINUTES = 1.0  # for a run of a problem, if neither time nor steps are given
DEFAULT_SEEDS = 5
# Stages that would hide the differences between policies.
_TRAINING_ALONE = ("--no-polish", "--no-continuation", "--no-slabs")


class UsageError(InputError):
    """A setting that does not fit; the user's problem file is not to blame."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of a comparison, as stored in `comparison.json`.

    A method is a policy, with a potential as `POLICY:POTENTIAL`; everything else is the
    same for all methods. `flags` are those of the `command` (`solve` or `train`) that
    every run gets. `target` is `None` for a problem defined in Python.
    """

    command: str
    target: str | None
    param: tuple[str, ...]
    methods: tuple[str, ...]
    first_seed: int
    num_seeds: int
    flags: dict[str, Any]
    num_threads: int

    @property
    def baseline(self) -> str:
        """The method that the others are compared with."""
        return BASELINE if BASELINE in self.methods else self.methods[0]

    @property
    def minutes(self) -> float | None:
        """The time limit of each run."""
        return self.flags.get("minutes")

    def runs(self) -> list[tuple[str, int]]:
        """Methods and seeds, seed by seed.

        Each seed begins with another method, so that a change of the machine's load
        affects all methods alike.
        """
        found = []
        for number in range(self.num_seeds):
            first = number % len(self.methods)
            order = self.methods[first:] + self.methods[:first]
            found += [(method, self.first_seed + number) for method in order]
        return found

    def words(self, method: str, seed: int, run: Path) -> tuple[str, ...]:
        """The command line of one run, without `vrba`."""
        flags = _policy_flags(method) | self.flags | {"seed": seed, "out": run}
        words = _TRAINING_ALONE if self.command == "solve" else ()
        return (self.command, *self._target_words(), *_as_words(flags), *words)

    def words_to_resume(self, method: str, run: Path) -> tuple[str, ...]:
        """The command line that resumes one run; it repeats what the run folder may not
        hold."""
        flags: dict[str, Any] = {"scale": self.flags.get("scale")}
        if self.command == "solve":
            flags = _policy_flags(method) | {"optimizer": self.flags.get("optimizer")}
        return (
            self.command,
            *self._target_words(),
            *_as_words(flags | {"resume": run}),
        )

    def command_line(self) -> str | None:
        """The command that repeats the comparison; `None` if Python made it."""
        if self.target is None:
            return None
        target = ["--data"] * (self.command == "train") + self._target_words()
        own = {"policies": ",".join(self.methods), "seed": self.first_seed}
        words = _as_words(own | {"seeds": self.num_seeds} | self.flags)
        return shlex.join(["vrba", "compare", *target, *words])

    def described_flags(self) -> str:
        """The target and the flags, for a table of settings."""
        return " ".join([self.target or "", *_as_words(self.flags)]).strip()

    def typed_target(self) -> str:
        """The target as typed; raise if the comparison was made in Python."""
        if self.target is None:
            raise UsageError(
                "This comparison was made in Python: resume it with `vrba.compare(..., "
                "resume=True)`."
            )
        return self.target

    def _target_words(self) -> list[str]:
        params = [word for pair in self.param for word in ("--param", pair)]
        return [self.typed_target(), *params]


def _policy_flags(method: str) -> dict[str, Any]:
    """Flags of `POLICY:POTENTIAL`."""
    policy, _, potential = method.partition(":")
    return {"policy": policy, "potential": potential or None}


def _as_words(flags: dict[str, Any]) -> list[str]:
    """Flags as typed; those without a value are left out."""
    given = {name: value for name, value in flags.items() if value is not None}
    names = {name: f"--{name.replace('_', '-')}" for name in given}
    return [word for name, v in given.items() for word in (names[name], str(v))]


class RunTask(NamedTuple):
    """A run to make, or to resume if `is_begun`."""

    method: str
    seed: int
    folder: Path
    is_begun: bool

    @property
    def name(self) -> str:
        """As in messages: `rad, seed 0`."""
        return run_name(self.method, self.seed)


def run_name(method: str, seed: int) -> str:
    """A run in messages: `rad, seed 0`."""
    return f"{method}, seed {seed}"


OnEnd = Callable[[RunTask, str, bool], None]
OnWait = Callable[[Sequence[RunTask]], None]


class AbstractExecutor(abc.ABC):
    """Makes runs, one after another or side by side."""

    @property
    @abc.abstractmethod
    def jobs(self) -> int:
        """How many runs go on at a time."""

    @abc.abstractmethod
    def run(self, tasks: Sequence[RunTask], on_end: OnEnd, on_wait: OnWait) -> bool:
        """Make the runs; return whether the user stopped them.

        `on_end` gets each finished task, an error message that applies if the run left
        no result, and whether the user stopped it. `on_wait` gets the running tasks
        now and then.
        """


class AbstractCase(abc.ABC):
    """What methods are compared on: a problem, or data for operators, with the recipe
    that all methods share."""

    command: ClassVar[str]
    default_policies: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Its name and what identifies it."""

    @staticmethod
    @abc.abstractmethod
    def is_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
        """Whether two descriptions are of the same case."""

    @abc.abstractmethod
    def method(self, policy: Any) -> tuple[str, Any]:
        """The full name and the recipe of a method, from its name or a policy."""

    @abc.abstractmethod
    def num_bytes(self, recipe: Any) -> float:
        """The memory that a run needs, about."""

    @abc.abstractmethod
    def run(
        self,
        recipe: Any,
        seed: int,
        minutes: float | int | None,
        task: RunTask,
        **options: Any,
    ) -> None:
        """Make a run in this process."""

    @abc.abstractmethod
    def load(self, folder: Path, recipe: Any = None) -> Any:
        """The solution or the operator of a finished run."""
