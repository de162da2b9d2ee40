"""Checks of what the functions of a problem and its network return."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..core import InputError
from ..fields import Jet, value_of
from ._base import Problem
from .arguments import check_argument_order
from .conditions import Ansatz


def check_residuals(found: Any) -> dict[str, Array]:
    """Convert the residuals to arrays; raise unless each is one real number."""
    if not isinstance(found, dict) or not found:
        kind = "an empty one" if isinstance(found, dict) else type(found).__name__
        raise InputError(
            "`equations` must return a dictionary of residuals by name, such as "
            f'{{"momentum": ...}}, got {kind}.'
        )
    checked = {}
    for name, value in found.items():
        value = jnp.asarray(value)
        if value.shape != ():
            raise InputError(
                f"The equation `{name}` must be one number at a point, got shape "
                f"{value.shape}."
            )
        if not jnp.issubdtype(value.dtype, jnp.floating):
            raise InputError(
                f"The equation `{name}` must be a real number, got {value.dtype}."
            )
        checked[name] = value
    return checked


def check_outputs(outputs: Jet, names: tuple[str, ...], count: int) -> None:
    """Raise unless the network returns one number for each field and each part."""
    shape = value_of(outputs).shape
    num_parts = count // len(names)
    place = f" on each of {num_parts} parts of the domain" if num_parts > 1 else ""
    if shape != (count,):
        raise InputError(
            f"The network must return one number for each of {', '.join(names)}{place},"
            f" shape ({count},), got shape {shape}."
        )


def check_ansatz(ansatz: Ansatz, problem: Problem) -> None:
    """Raise unless the ansatz fits the coordinates and fields of the problem."""
    expected = *problem.domain.coordinates, *problem.fields
    check_argument_order(ansatz.fn, expected, "`Ansatz`")
    number = jax.ShapeDtypeStruct((), jnp.zeros(()).dtype)
    jax.eval_shape(as_list_fn(ansatz.fn, problem.fields), *[number] * len(expected))


def as_list_fn(
    fn: Callable[..., Any], names: tuple[str, ...]
) -> Callable[..., list[Any]]:
    """Wrap an ansatz so that it returns a list with one value for each field."""

    def as_list(*arguments):
        try:
            found = fn(*arguments)
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            raise InputError(
                f"`Ansatz` is called with {len(arguments)} arguments, the coordinates "
                f"and an output of the network for each field, but: {error}."
            ) from error
        found = list(found) if isinstance(found, tuple | list) else [found]
        shapes = [jnp.shape(value) for value in found]
        if len(found) != len(names) or any(shapes):
            raise InputError(
                f"`Ansatz` must return one number for each of {', '.join(names)}, got "
                f"shapes {shapes}."
            )
        if any(jnp.iscomplexobj(value) for value in found):
            raise InputError(
                f"`Ansatz` must return a real number for each of {', '.join(names)}, "
                "got complex ones."
            )
        return [jnp.asarray(value).astype(arguments[0].dtype) for value in found]

    return as_list
