"""Checks of the arguments that a user's function takes."""

import inspect
from collections.abc import Callable, Collection
from typing import Any

from ..core import InputError


def check_argument_names(
    fn: Callable[..., Any], expected: tuple[str, ...], setting: str, label: str
) -> None:
    """Raise unless a function of a condition takes the `expected` names in order."""
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


def check_argument_order(
    fn: Callable[..., Any],
    expected: Collection[str],
    what: str,
    forbidden: Collection[str] = (),
) -> None:
    """Raise if `fn` takes an `expected` name in another position.

    A name in `forbidden` is not passed and may not appear. All other names are free. A
    wrong number of arguments is left to the call.
    """
    try:
        signature = inspect.signature(fn)
        signature.bind(*expected)
    except (TypeError, ValueError):  # the call raises, or there is no signature
        return
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [p.name for p in signature.parameters.values() if p.kind is named]
    known = {*expected, *forbidden}
    if any(
        name in known and name != other
        for name, other in zip(given, expected, strict=False)
    ):
        raise InputError(
            f"{what} takes ({', '.join(given)}), but is called with "
            f"({', '.join(expected)}), in this order."
        )
