"""From words to a command, and from errors to exit codes."""

import dataclasses
import inspect
import sys
import traceback
from collections.abc import Sequence

import tyro

from .. import cli
from ..core import kebab_case
from ._base import BAD_INPUT, FAILED, INTERRUPTED, AbstractCommand
from .mistakes import explain, is_mistake


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns 0 if it is done, 2 for bad input, 130 if interrupted and
    1 for any other error."""
    try:
        command = _parse(arguments)
    except SystemExit as stop:  # help, or flags that do not exist
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    try:
        words = tuple(sys.argv[1:] if arguments is None else arguments)
        return dataclasses.replace(command, words=words).run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        return INTERRUPTED
    except SystemExit as stop:  # of the user's file
        sys.stderr.write(f"vrba: {command.file()} ends the program: {stop.code}\n")
        return BAD_INPUT
    except Exception as error:
        if command.shows_traceback:
            traceback.print_exc()
        sys.stderr.write(f"vrba: {explain(error, command.file())}\n")
        return BAD_INPUT if is_mistake(error, command.file()) else FAILED


def _parse(arguments: Sequence[str] | None) -> AbstractCommand:
    app = tyro.extras.SubcommandApp()
    for name, value in vars(cli).items():
        is_command = inspect.isclass(value) and issubclass(value, AbstractCommand)
        if is_command and not inspect.isabstract(value):
            app.command(name=kebab_case(name))(value)
    return app.cli(
        prog="vrba",
        description="Solve differential equations by neural networks.",
        args=arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
