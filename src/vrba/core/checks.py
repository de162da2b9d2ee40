"""Checks of settings. All raise `InputError` with the setting's name and value."""

import math
import numbers
import operator
from typing import Any

import numpy as np

from .errors import InputError


def check_between(**settings: tuple[Any, float, float]) -> None:
    """Raise unless `lower < value < upper` for each `name=(value, lower, upper)`."""
    for name, (value, lower, upper) in settings.items():
        _check_number(name, value)
        if not lower < value < upper:
            raise InputError(
                f"`{name}` must be between {lower:g} and {upper:g}, got {value}."
            )


def check_count(**settings: Any) -> None:
    """Raise unless each `name=value` is an integer of at least one."""
    check_least(**{name: (value, 1) for name, value in settings.items()})


def check_least(**settings: tuple[Any, int]) -> None:
    """Raise unless each `name=(value, least)` is an integer with `value >= least`."""
    for name, (value, least) in settings.items():
        try:
            number = operator.index(value)
        except TypeError as error:
            message = f"`{name}` must be a whole number, got {value!r}."
            raise InputError(message) from error
        if number < least:
            raise InputError(f"`{name}` must be at least {least}, got {value}.")


def check_positive(**settings: Any) -> None:
    """Raise unless each `name=value` is positive and finite."""
    for name, value in settings.items():
        _check_number(name, value)
        if not 0 < value < math.inf:
            wanted = "finite" if value > 0 else "positive"
            raise InputError(f"`{name}` must be {wanted}, got {value}.")


def check_kind(**settings: tuple[Any, type]) -> None:
    """Raise unless each `name=(value, kind)` is an instance of `kind`."""
    for name, (value, kind) in settings.items():
        if not isinstance(value, kind):
            is_class = isinstance(value, type) and issubclass(value, kind)
            hint = f": write `{value.__name__}(...)`" if is_class else ""
            raise InputError(
                f"`{name}` must be of the kind `{kind.__name__}`, got {value!r}{hint}."
            )


def is_number(value: Any) -> bool:
    """Whether `value` is one real number; an array without axes counts."""
    if isinstance(value, numbers.Real):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    return np.ndim(value) == 0 and kind in "iuf"


def _check_number(name: str, value: Any) -> None:
    if not is_number(value):
        raise InputError(f"`{name}` must be a number, got {value!r}.")


def check_real(**arrays: Any) -> None:
    """Raise if an array, given as `name=array`, is complex or text."""
    for name, array in arrays.items():
        dtype = np.dtype(array.dtype)
        if dtype.kind in "cSU":
            is_complex = dtype.kind == "c"
            hint = ". Pass real and imaginary parts separately" if is_complex else ""
            raise InputError(f"`{name}` must hold real numbers, got {dtype}{hint}.")


def as_floats(name: str, values: Any) -> np.ndarray:
    """Convert to a NumPy array of floats; raise unless the values are real."""
    array = np.asarray(values)
    check_real(**{name: array})
    return np.asarray(array, float)
