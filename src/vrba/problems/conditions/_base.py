"""The interface of a condition that is a term of the loss."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...core import InputError, check_count, check_positive
from ...domains import AbstractDomain
from ...fields import Field
from ..arguments import check_argument_order

Number = float | int
Value = Number | Callable[..., Any]
Sampled = tuple[Float[np.ndarray, "points dim"], Float[np.ndarray, "points numbers"]]
Point = dict[str, Float[Array, ""]]
Fields = dict[str, Field]


class Penalty(eqx.Module):
    """How a condition enters the loss.

    `name` is the name of the term, `weight` multiplies it beside the equations; the
    default is the recipe's choice.
    `num_points` are sampled by `policy`; both default to the recipe's choice. If the
    condition has 50 points or more, `holds_out` keeps a fifth of them to select the
    best iterate. Otherwise all points are used for training and for selection.
    """

    name: str | None = None
    weight: Number | None = None
    num_points: int | None = None
    policy: Any = None
    holds_out: bool = True

    def __check_init__(self):
        if self.weight is not None:
            check_positive(weight=self.weight)
        if self.num_points is not None:
            check_count(num_points=self.num_points)


class AbstractCondition(eqx.Module):
    """A condition on some points: a residual that should vanish there."""

    is_of_one_field: ClassVar[bool] = True
    penalty: eqx.AbstractVar[Penalty]
    field: eqx.AbstractVar[str | None]

    @abc.abstractmethod
    def label(self) -> str:
        """Return the name of the loss term, unless `penalty` has one."""

    @abc.abstractmethod
    def check(self, domain: AbstractDomain) -> None:
        """Raise if the condition does not fit the domain."""

    @abc.abstractmethod
    def num_available(self, domain: AbstractDomain) -> int | None:
        """Return the number of different points, `None` if it is unlimited."""

    @abc.abstractmethod
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Return points, and for each point the `numbers` that `residual` receives.

        The numbers are the outward normal (zero inside the domain) or measured values.
        """

    @abc.abstractmethod
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        """Return the residual at one point."""

    def select_field(self, fields: Fields) -> Field:
        """Return the field that the condition restricts."""
        return fields[self.field or next(iter(fields))]


def evaluate_value(
    value: Value, point: Point, label: str, like: Any, *, without: str | None = None
) -> Any:
    """Evaluate a number or function at one point, in the dtype of `like`.

    A function receives all coordinates except `without`.
    """
    arguments = {name: one for name, one in point.items() if name != without}
    if callable(value):
        what = f"A value of the condition `{label}`"
        check_argument_order(value, arguments, what, point)
    try:
        found = jnp.asarray(value(*arguments.values()) if callable(value) else value)
    except TypeError as error:
        if not callable(value):
            raise InputError(
                f"The value of the condition `{label}` must be a number or a function "
                f"of the coordinates, got {value!r}."
            ) from error
        if "positional argument" not in str(error):
            raise
        raise InputError(
            f"The value of the condition `{label}` is called with {len(arguments)} "
            f"coordinates ({', '.join(arguments)}), but does not take them: {error}."
        ) from error
    if found.shape != ():
        raise InputError(
            f"The value of the condition `{label}` must be one number at a point, got "
            f"shape {found.shape}."
        )
    if jnp.iscomplexobj(found):
        raise InputError(
            f"The value of the condition `{label}` must be a real number, got "
            f"{found.dtype}."
        )
    return found.astype(like.dtype)


def check_inside(
    domain: AbstractDomain, coordinate: str, at: Number | None, label: str
) -> None:
    """Raise if the domain lacks the coordinate or if `at` is outside its bounds."""
    if coordinate not in domain.coordinates:
        raise InputError(
            f"The condition `{label}` is on `{coordinate}`, but the coordinates of the "
            f"domain are {', '.join(domain.coordinates)}."
        )
    lower, upper = domain.bounds(coordinate)
    if at is not None and not lower <= at <= upper:
        raise InputError(
            f"The condition `{label}` is at {coordinate} = {at:g}, outside the domain, "
            f"where {coordinate} lies between {lower:g} and {upper:g}."
        )
