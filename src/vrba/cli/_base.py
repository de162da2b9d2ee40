"""The interface of a command."""

import abc
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from tyro.conf import Suppress, arg

from ..compare import UsageError as UsageError
from ..train import LAST_SEED

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """A message with the flags in place of the settings that they set."""
    for name, flag in flags.items():
        text = text.replace(f"`{name}`", f"`{flag}`")
    return text


def check_seeds(seed: int, num_seeds: int) -> None:
    """Refuses a number of seeds, or a last one, that there is not."""
    if num_seeds < 1:
        raise UsageError(f"`--seeds` must be at least 1, got {num_seeds}.")
    if not 0 <= seed <= LAST_SEED - num_seeds + 1:
        raise UsageError(
            f"`--seed` must lie between 0 and {LAST_SEED}, and so must the last of "
            f"`--seeds`, got {seed} and {num_seeds}."
        )


def check_share(diagnose: float) -> None:
    """Refuses a share of the time that is none."""
    if not 0 <= diagnose <= 1:
        raise UsageError(f"`--diagnose` must be between 0 and 1, got {diagnose:g}.")


@dataclasses.dataclass(frozen=True)
class AbstractCommand(abc.ABC):
    """Flags as fields. A command that `vrba.cli` exports can be called by its name.

    `words` are those it was called with, to be told in a report.
    """

    words: Suppress[tuple[str, ...]] = dataclasses.field(default=(), kw_only=True)

    @abc.abstractmethod
    def run(self) -> int:
        """Does it; returns the exit code."""

    @abc.abstractmethod
    def file(self) -> Path | None:
        """The user's file, where mistakes are looked for."""

    @property
    @abc.abstractmethod
    def shows_traceback(self) -> bool:
        """Whether errors are shown in full."""


@dataclasses.dataclass(frozen=True)
class AbstractFolderCommand(AbstractCommand):
    """A command about folders of runs: there is no file of the user's to look into."""

    debug: Annotated[bool, arg(help_behavior_hint="")] = dataclasses.field(
        default=False, kw_only=True
    )
    """Show errors in full."""

    @property
    def shows_traceback(self) -> bool:
        """As asked."""
        return self.debug

    def file(self) -> Path | None:
        """None is asked for."""
        return None
