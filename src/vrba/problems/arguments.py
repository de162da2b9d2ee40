"""Functions that a user hands in take what they will be given."""

import inspect
from collections.abc import Callable, Collection
from typing import Any

from ..core import InputError


def check_arguments(
    fn: Callable[..., Any], expected: tuple[str, ...], setting: str, label: str
) -> None:
    """A function of a condition takes what it will be given, by name."""
    if not callable(fn):
        raise InputError(
            f"`{setting}` of the condition `{label}` must be a function, got {fn!r}."
        )
    parameters = inspect.signature(fn).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    given = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if given != list(expected):
        raise InputError(
            f"`{setting}` of the condition `{label}` takes ({', '.join(given)}), but "
            f"is called with ({', '.join(expected)}), in this order."
        )


def check_order(
    fn: Callable[..., Any],
    expected: Collection[str],
    what: str,
    also: Collection[str] = (),
) -> None:
    """A function called by position with what is `expected` has no such name in another
    place, nor one of those that it is not given, `also`. Other names are free, and how
    many there are is left to the call."""
    try:
        signature = inspect.signature(fn)
        signature.bind(*expected)
    except (TypeError, ValueError):  # the call will tell, or nothing is known of it
        return
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [p.name for p in signature.parameters.values() if p.kind is named]
    known = {*expected, *also}
    if any(
        name in known and name != other
        for name, other in zip(given, expected, strict=False)
    ):
        raise InputError(
            f"{what} takes ({', '.join(given)}), but is called with "
            f"({', '.join(expected)}), in this order."
        )
