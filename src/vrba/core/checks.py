"""Settings of the wrong kind or out of range, refused in the same words everywhere."""

import math
import numbers
import operator
from typing import Any

import numpy as np

from .errors import InputError


def check_between(**settings: tuple[Any, float, float]) -> None:
    """Each setting as `name=(value, lower, upper)`, strictly between."""
    for name, (value, lower, upper) in settings.items():
        _check_number(name, value)
        if not lower < value < upper:
            raise InputError(
                f"`{name}` must be between {lower:g} and {upper:g}, got {value}."
            )


def check_count(**settings: Any) -> None:
    """Each setting, as `name=value`, a whole number of at least one."""
    check_least(**{name: (value, 1) for name, value in settings.items()})


def check_least(**settings: tuple[Any, int]) -> None:
    """Each setting as `name=(value, least)`, a whole number."""
    for name, (value, least) in settings.items():
        try:
            number = operator.index(value)
        except TypeError as error:
            message = f"`{name}` must be a whole number, got {value!r}."
            raise InputError(message) from error
        if number < least:
            raise InputError(f"`{name}` must be at least {least}, got {value}.")


def check_positive(**settings: Any) -> None:
    """Each setting, as `name=value`, more than zero and finite."""
    for name, value in settings.items():
        _check_number(name, value)
        if not 0 < value < math.inf:
            wanted = "finite" if value > 0 else "positive"
            raise InputError(f"`{name}` must be {wanted}, got {value}.")


def check_kind(**settings: tuple[Any, type]) -> None:
    """Each setting as `name=(value, kind)`, an object of that kind."""
    for name, (value, kind) in settings.items():
        if not isinstance(value, kind):
            is_class = isinstance(value, type) and issubclass(value, kind)
            hint = f": write `{value.__name__}(...)`" if is_class else ""
            raise InputError(
                f"`{name}` must be of the kind `{kind.__name__}`, got {value!r}{hint}."
            )


def is_number(value: Any) -> bool:
    """Whether it is one real number, also one in an array without axes."""
    if isinstance(value, numbers.Real):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    return np.ndim(value) == 0 and kind in "iuf"


def _check_number(name: str, value: Any) -> None:
    if not is_number(value):
        raise InputError(f"`{name}` must be a number, got {value!r}.")


def check_real(**arrays: Any) -> None:
    """Each array, as `name=array`, of real numbers."""
    for name, array in arrays.items():
        dtype = np.dtype(array.dtype)
        if dtype.kind in "cSU":
            hint = ": give real and imaginary parts apart" if dtype.kind == "c" else ""
            raise InputError(f"`{name}` must hold real numbers, got {dtype}{hint}.")


def as_floats(name: str, values: Any) -> np.ndarray:
    """Numbers as an array of floats; refused unless they are real."""
    array = np.asarray(values)
    check_real(**{name: array})
    return np.asarray(array, float)
