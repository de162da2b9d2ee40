"""Errors in the user's words: the line of the user's file, and what is wrong there."""

import linecache
import traceback
from collections.abc import Iterator
from pathlib import Path

from jax import errors

from ..core import InputError
from ..data import PairsError
from ._base import UsageError

# JAX's own words for these are long, and about JAX.
_ADVICE = {
    errors.TracerBoolConversionError: (
        "`if`, `and`, `or`, `max` and `min` cannot be used on what depends on the "
        "point: write `jnp.where`, `jnp.maximum` or `jnp.minimum`."
    ),
    errors.TracerArrayConversionError: (
        "a function of numpy cannot be used on what depends on the point: write "
        "`jax.numpy` instead."
    ),
    errors.ConcretizationTypeError: (
        "`float`, `int` and functions of `math` cannot be used on what depends on the "
        "point: write `jax.numpy` instead."
    ),
}


def is_mistake(error: BaseException, file: Path | None) -> bool:
    """Whether the input is to blame: the user's file, or a value that was refused."""
    return isinstance(error, InputError) or _line_in(error, file) is not None


def explain(error: BaseException, file: Path | None) -> str:
    """What went wrong in a few words, with file and line if it came from there."""
    text = _text(error)
    if isinstance(error, PairsError):
        text = "\n\n".join([text, *error.__notes__])
    if file is None or isinstance(error, UsageError):
        return text
    line = _line_in(error, file)
    if line is None:
        return f"{file}: {text}" if isinstance(error, InputError) else text
    source = linecache.getline(str(file.resolve()), line).strip()
    return f"{file}, line {line}: {text}" + (f"\n    {source}" if source else "")


def _text(error: BaseException) -> str:
    """The first line; the kind of error where its text alone may not say it."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}"
    for kind, advice in _ADVICE.items():
        if isinstance(error, kind):
            return advice
    text = str(error).strip().split("\n")[0]
    has_own_words = isinstance(error, InputError | OSError) or "`" in text
    return text if text and has_own_words else f"{type(error).__name__}: {text}"


def _line_in(error: BaseException, file: Path | None) -> int | None:
    """The innermost line of the file that the error, or its cause, came through."""
    if file is None:
        return None
    path = str(file.resolve())
    for one in _chain(error):
        if isinstance(one, SyntaxError) and one.filename == path:
            return one.lineno
        frames = traceback.extract_tb(one.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == path]
        if lines:
            return lines[-1]
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, then what caused it."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__
