"""From the command line to a command, and from errors to exit codes."""

import dataclasses
import importlib
import importlib.metadata
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import COMMANDS

if TYPE_CHECKING:
    from ._base import AbstractCommand

_HELP = """\
usage: vrba COMMAND [OPTIONS]

Train neural PDE solvers and neural operators with residual-based adaptivity.

commands:
{commands}

options:
  --version    Print the version.
  -h, --help   Print this help; `vrba COMMAND --help` lists the options of a command.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: done; 1: a failed run or an unexpected error; 2: bad input; 130: interrupted;
    141: the reader of the output closed the pipe.
    """
    words = tuple(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _run(words: tuple[str, ...]) -> int:
    if not words or words[0] in ("-h", "--help"):
        lines = [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
        sys.stdout.write(_HELP.format(commands="\n".join(lines)))
        return 0
    if words[0] == "--version":
        sys.stdout.write(f"vrba {importlib.metadata.version('vrba')}\n")
        return 0
    from ._base import BAD_INPUT, UsageError  # what is above needs no JAX

    try:
        command = _parse(words)
    except UsageError as error:
        sys.stderr.write(f"vrba: {error}\n")
        return BAD_INPUT
    except SystemExit as stop:  # the parser has printed its help or a message
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    return _execute(command)


def _parse(words: tuple[str, ...]) -> "AbstractCommand":
    import tyro

    from .flags import check_command, check_words

    name, *rest = words
    check_command(name, COMMANDS)
    module, _, class_name = COMMANDS[name][0].partition(":")
    kind = getattr(importlib.import_module(f"{__package__}.{module}"), class_name)
    check_words(name, kind, rest)
    config = (tyro.conf.FlagCreatePairsOff,)
    command = tyro.cli(kind, prog=f"vrba {name}", args=rest, config=config)
    return dataclasses.replace(command, words=words)


def _execute(command: "AbstractCommand") -> int:
    from ._base import BAD_INPUT, FAILED, INTERRUPTED
    from .error_messages import explain, is_user_error
    from .problem_argument import file_of

    file = next((found for word in command.words if (found := file_of(word))), None)
    try:
        return command.run()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit as stop:  # raised by the user's file
        sys.stderr.write(f"vrba: {file} exits the program: {stop.code}\n")
        return BAD_INPUT
    except Exception as error:
        if command.debug:
            traceback.print_exc()
        sys.stderr.write(f"vrba: {explain(error, file, command)}\n")
        return BAD_INPUT if is_user_error(error, file) else FAILED
