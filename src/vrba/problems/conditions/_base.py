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
from ..arguments import check_order

Number = float | int
Value = Number | Callable[..., Any]
Sampled = tuple[Float[np.ndarray, "points dim"], Float[np.ndarray, "points numbers"]]
Point = dict[str, Float[Array, ""]]
Fields = dict[str, Field]


class Penalty(eqx.Module):
    """How a condition enters the loss: its name there, its weight beside the equations,
    on how many points, and by which policy these are drawn; if not said, the recipe's
    choice. Where there are finitely many points, `holds_out` is whether a fifth of 50
    or more is kept to select an iterate by; else all are trained on and checked."""

    name: str | None = None
    weight: Number = 1.0
    num_points: int | None = None
    policy: Any = None
    holds_out: bool = True

    def __check_init__(self):
        """Settings in range."""
        check_positive(weight=self.weight)
        if self.num_points is not None:
            check_count(num_points=self.num_points)


class AbstractCondition(eqx.Module):
    """A condition on some points: a residual that should vanish there."""

    is_of_one_field: ClassVar[bool] = True
    penalty: eqx.AbstractVar[Penalty]
    of: eqx.AbstractVar[str | None]

    @abc.abstractmethod
    def label(self) -> str:
        """Its name in the loss, unless `penalty` gives one."""

    @abc.abstractmethod
    def check(self, domain: AbstractDomain) -> None:
        """Refuses what does not fit the domain."""

    @abc.abstractmethod
    def num_available(self, domain: AbstractDomain) -> int | None:
        """How many points it can be held to, if not endlessly many."""

    @abc.abstractmethod
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points where it holds, with numbers for each that `residual` receives: the
        outward normal (zero inside), or what was measured."""

    @abc.abstractmethod
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        """What should vanish at one point."""

    def field(self, fields: Fields) -> Field:
        """The field that the condition is of."""
        return fields[self.of or next(iter(fields))]


def evaluate(
    value: Value, point: Point, label: str, like: Any, *, without: str | None = None
) -> Any:
    """A number, or a function of the coordinates, at one point; or of all but one."""
    arguments = {name: one for name, one in point.items() if name != without}
    if callable(value):
        check_order(value, arguments, f"A value of the condition `{label}`", point)
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
            f"coordinates, which it does not take: {error}."
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
    """Refuses a coordinate the domain has not, or a place outside of it."""
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
