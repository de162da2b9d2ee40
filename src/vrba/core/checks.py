"""Settings out of range, refused in the same words everywhere."""

from typing import Any

import numpy as np


def check_between(**settings: tuple[float, float, float]) -> None:
    """Each setting as `name=(value, lower, upper)`, strictly between."""
    for name, (value, lower, upper) in settings.items():
        if not lower < value < upper:
            raise ValueError(
                f"`{name}` must be between {lower:g} and {upper:g}, got {value}."
            )


def check_count(**settings: int) -> None:
    """Each setting, as `name=value`, at least one."""
    for name, value in settings.items():
        if value < 1:
            raise ValueError(f"`{name}` must be at least 1, got {value}.")


def check_least(**settings: tuple[int, int]) -> None:
    """Each setting as `name=(value, least)`."""
    for name, (value, least) in settings.items():
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")


def check_positive(**settings: float) -> None:
    """Each setting, as `name=value`, more than zero."""
    for name, value in settings.items():
        if not value > 0:
            raise ValueError(f"`{name}` must be positive, got {value}.")


def check_real(**arrays: Any) -> None:
    """Each array, as `name=array`, of real numbers."""
    for name, array in arrays.items():
        dtype = np.dtype(array.dtype)
        if dtype.kind in "cSU":
            hint = ": give real and imaginary parts apart" if dtype.kind == "c" else ""
            raise ValueError(f"`{name}` must hold real numbers, got {dtype}{hint}.")


def as_floats(name: str, values: Any) -> np.ndarray:
    """Numbers as an array of floats; refused unless they are real."""
    array = np.asarray(values)
    check_real(**{name: array})
    return np.asarray(array, float)
