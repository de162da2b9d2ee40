"""Flags that several commands share, and the checks of what was typed."""

import dataclasses
import types
import typing
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import OmitArgPrefixes, Positional, Suppress, UseAppendAction, arg

from ..compare import (
    check_budget,
    did_you_mean,
    known_optimizers,
    known_policies,
    known_potentials,
    known_problems,
    known_recipes,
    listed,
)
from ._base import AbstractCommand, UsageError

Name = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
Count = Annotated[int | None, arg(metavar="N", help_behavior_hint="")]
Folder = Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="")]
File = Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")]
Minutes = Annotated[float | None, arg(metavar="MINUTES", help_behavior_hint="")]
Tolerance = Annotated[float | None, arg(metavar="ERROR", help_behavior_hint="")]
Dtype = Annotated[
    Literal["float32", "float64"] | None,
    arg(metavar="TYPE", help="float32 or float64", help_behavior_hint=""),
]
Switch = Annotated[bool, arg(help_behavior_hint="")]
Target = Annotated[
    Positional[str | None],
    arg(
        metavar="[TARGET]",
        help=f"FILE.py, FILE.py:ClassName, or one of {listed(known_problems())}",
        help_behavior_hint="",
    ),
]
Only = Annotated[
    str | None,
    arg(
        metavar="A,B",
        help="Run only these methods; keep the results of the others.",
        help_behavior_hint="",
    ),
]
Assignments = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(metavar="NAME=VALUE", help="A parameter of the problem or the data"),
]


@dataclasses.dataclass(frozen=True)
class RecipeFlags:
    """Defaults depend on the problem, the optimizer and the time limit."""

    recipe: Annotated[Name, arg(help=f"as published: {listed(known_recipes())}")] = None
    optimizer: Annotated[Name, arg(help=listed(known_optimizers()))] = None
    policy: Annotated[Name, arg(help=listed(known_policies()))] = None
    potential: Annotated[Name, arg(help=listed(known_potentials()))] = None
    points: Count = None
    """Number of training points in each step."""
    pool: Count = None
    """Number of candidate points from which training points are sampled."""
    resample_every: Count = None
    """Number of steps between two samplings of the training points."""
    width: Count = None
    """Number of units in each hidden layer."""
    depth: Count = None
    """Number of hidden layers."""
    steps: Count = None
    """Maximum number of steps."""
    dtype: Dtype = None


@dataclasses.dataclass(frozen=True)
class AbstractProblemCommand(AbstractCommand):
    """The flags of every command that solves a problem."""

    target: Target = None
    param: Assignments = ()
    recipe: OmitArgPrefixes[RecipeFlags] = RecipeFlags()
    minutes: Minutes = None
    """Time limit of each run in minutes, including the time before a resume."""
    seed: int = 0
    """Random seed of the network and the points; the first one with `--seeds`."""
    out: Folder = None
    """Output folder (default: a new folder in runs/)."""
    resume: Folder = None
    """Resume from this folder; TARGET is optional for problems shipped with vrba."""
    diagnose: float = 0.05
    """Fraction of the run time spent on diagnostics (0 disables them)."""
    json: Switch = False
    """Print the result as one JSON object in the last line."""

    def check_flags(self, num_seeds: int) -> None:
        """Raise if a shared flag is out of range or the problem is missing."""
        if self.target is None and self.resume is None:
            raise UsageError(
                "Give a problem to solve: FILE.py, or one of "
                f"{listed(known_problems())}; or resume a run with `--resume DIR`."
            )
        check_budget(self.seed, num_seeds, self.minutes, self.diagnose)


def check_command(name: str, commands: Collection[str]) -> None:
    """Raise if there is no command of this name."""
    if name not in commands:
        kind = "flag" if name.startswith("-") else "command"
        raise UsageError(
            f"There is no {kind} `{name}`.{did_you_mean(name, commands)} "
            f"The commands are {', '.join(commands)}."
        )


def check_words(name: str, command: type, words: Sequence[str]) -> None:
    """Raise if the words do not fit the flags of a command, in one plain sentence.

    The parser would reject them too, in its own terms.
    """
    flags, arguments = fields_of(command)
    rest, given = iter(words), []
    for word in rest:
        if word in ("-h", "--help"):
            return
        flag, equals, value = word.partition("=")
        if not _is_flag(word):
            given.append(word)
        elif (flag := flag.replace("_", "-")) not in flags:
            raise UsageError(
                f"There is no flag `{flag}`.{did_you_mean(flag, flags)} "
                f"`vrba {name} --help` lists all flags."
            )
        elif flags[flag] is not bool:
            value = value if equals else next(rest, "--")
            if not equals and _is_flag(value):
                raise UsageError(f"`{flag}` needs a value.")
            _check_value(flag, flags[flag], value)
    _check_arguments(name, arguments, given)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _check_arguments(name: str, arguments: dict[str, Any], given: list[str]) -> None:
    """Raise if positional arguments are missing, superfluous or not among choices."""
    is_many = any(typing.get_origin(kind) is tuple for kind in arguments.values())
    if len(given) > len(arguments) and not is_many:
        raise UsageError(f"Unexpected argument `{given[len(arguments)]}`.")
    required = [metavar for metavar in arguments if not metavar.startswith("[")]
    if len(given) < len(required) and not is_many:
        raise UsageError(f"Usage: vrba {name} {' '.join(arguments)}")
    for (metavar, kind), word in zip(arguments.items(), given, strict=False):
        _check_value(metavar, kind, word)


def _check_value(flag: str, kind: Any, text: str) -> None:
    """Raise if the text is not a number, or not one of the choices."""
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if text not in choices:
            one_of = ", ".join(choices)
            guess = did_you_mean(text, choices)
            raise UsageError(f"`{flag}` must be one of {one_of}, got `{text}`.{guess}")
    elif kind in (int, float):
        try:
            kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise UsageError(f"`{flag}` must be {what}, got `{text}`.") from None


def fields_of(command: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The types of the flags of a command, and of its positional arguments."""
    flags: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        marks = getattr(hint, "__metadata__", ())
        kind = hint.__origin__ if marks else hint
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            (kind,) = set(typing.get_args(kind)) - {types.NoneType}
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            flags |= fields_of(kind)[0]
        elif Positional in marks:
            metavars = [m for mark in marks if (m := getattr(mark, "metavar", None))]
            arguments[metavars[-1]] = kind
        elif Suppress not in marks:
            flags["--" + name.replace("_", "-")] = kind
    return flags, arguments
