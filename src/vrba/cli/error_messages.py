"""Error messages in the user's terms: the line of the user's file, and the reason."""

import linecache
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

from jax import errors

from ..core import InputError
from ..data import PairsError
from ._base import AbstractCommand, UsageError
from .flags import fields_of

# JAX's own messages are long and about JAX.
_ADVICE = {
    errors.TracerBoolConversionError: (
        "`if`, `and`, `or`, `max` and `min` cannot be used on values that depend on "
        "the point: write `jnp.where`, `jnp.maximum` or `jnp.minimum`."
    ),
    errors.TracerArrayConversionError: (
        "a numpy function cannot be used on values that depend on the point: write "
        "`jax.numpy` instead."
    ),
    errors.ConcretizationTypeError: (
        "`float`, `int` and functions of `math` cannot be used on values that depend "
        "on the point: write `jax.numpy` instead."
    ),
}
# Settings whose flags have other names.
_FLAGS = {
    "num_points": "points",
    "pool_size": "pool",
    "batch_size": "batch",
    "num_steps": "steps",
    "max_steps": "steps",
    "first_seed": "seed",
    "path": "export",
}
# A full disk or a missing package is no defect of vrba.
_ENVIRONMENT = (OSError, ImportError, MemoryError)


def is_user_error(error: BaseException, file: Path | None) -> bool:
    """Whether the input was rejected, or a line of the user's file failed."""
    return isinstance(error, InputError) or _line_in(error, file) is not None


def explain(error: BaseException, file: Path | None, command: AbstractCommand) -> str:
    """The error in one or two lines, with file and line if the user's file failed.

    Settings are called by the flags of the command.
    """
    line = _line_in(error, file)
    if file is None or line is None:
        return _without_line(error, file, command)
    source = linecache.getline(str(file.resolve()), line).strip()
    text = f"{file}, line {line}: {_text(error)}"
    return text + (f"\n    {source}" if source else "")


def _without_line(
    error: BaseException, file: Path | None, command: AbstractCommand
) -> str:
    text = _text(error)
    if isinstance(error, PairsError):
        return "\n\n".join([text, *error.__notes__])
    if isinstance(error, InputError):
        in_flags = _in_flags(text, command)
        is_usage = isinstance(error, UsageError) or in_flags != text
        return in_flags if file is None or is_usage else f"{file}: {text}"
    if isinstance(error, _ENVIRONMENT):
        return text
    kind = f"{type(error).__name__}: "
    return (
        f"{kind}{text.removeprefix(kind)}\n"
        "This is a defect of vrba; add `--debug` to see the traceback."
    )


def _in_flags(text: str, command: AbstractCommand) -> str:
    """Replace the names of settings in a message by the flags that set them."""
    flags, _ = fields_of(type(command))
    for name in re.findall(r"`(\w+)`", text):
        flag = "--" + (_FLAGS.get(name) or name).replace("_", "-")
        if flag in flags:
            text = text.replace(f"`{name}`", f"`{flag}`")
    return text


def _text(error: BaseException) -> str:
    """The first line of an error, with its type unless the message is our own."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}"
    for kind, advice in _ADVICE.items():
        if isinstance(error, kind):
            return advice
    text = str(error).strip().split("\n")[0]
    is_own = isinstance(error, InputError | OSError) or "`" in text
    return text if text and is_own else f"{type(error).__name__}: {text}"


def _line_in(error: BaseException, file: Path | None) -> int | None:
    """The innermost line of the file in the traceback of the error or its cause."""
    if file is None or isinstance(error, UsageError):
        return None
    path = str(file.resolve())
    for one in _with_causes(error):
        if isinstance(one, SyntaxError) and one.filename == path:
            return one.lineno
        frames = traceback.extract_tb(one.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == path]
        if lines:
            return lines[-1]
    return None


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__
