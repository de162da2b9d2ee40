"""The interface of a command, and the exit codes."""

import abc
import dataclasses
from typing import Annotated

from tyro.conf import Suppress, arg

from ..compare import UsageError as UsageError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


@dataclasses.dataclass(frozen=True)
class AbstractCommand(abc.ABC):
    """A command with its flags as fields.

    `words` are the command-line arguments as typed, which the run folder records.
    """

    words: Suppress[tuple[str, ...]] = dataclasses.field(default=(), kw_only=True)
    debug: Annotated[bool, arg(help_behavior_hint="")] = dataclasses.field(
        default=False, kw_only=True
    )
    """Show the traceback of errors."""

    @abc.abstractmethod
    def run(self) -> int:
        """Run the command and return its exit code."""
