"""Conditions on an interface, where a level function is zero."""

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError, is_number
from ...domains import AbstractDomain
from ...fields import Field
from ..arguments import check_argument_names
from ..level_sets import LevelSet
from ._base import (
    AbstractCondition,
    Fields,
    Penalty,
    Point,
    Sampled,
    Value,
    evaluate_value,
)

SIDES = ("-", "+")  # what the names of fields have on the two sides of an interface
_TIME = "t"
_ROUNDING_ERRORS = 16  # from an interface to the points beside it


class Interface(eqx.Module):
    """An interface between two materials: the solution may have a kink or a jump.

    The interface is where `level`, a function of all coordinates, is zero. The network
    has separate outputs for both sides, and a field is the output of the side where the
    point is. With the normal `n` towards the positive side, the conditions are
    `u_positive - u_negative = jump` and
    `k_positive du_positive/dn - k_negative du_negative/dn = flux`.

    `coefficient` is a pair `(k_negative, k_positive)`, or one `k` for both sides. Each
    is a number or a function of all coordinates. A function may jump at the interface:
    it is evaluated a few rounding errors beside it. `None` leaves out the condition on
    the flux, for equations of first order. `jump` and `flux` are numbers or functions.

    In the equations, write a piecewise constant coefficient as
    `k = jnp.where(level(x, y) < 0, 1.0, 10.0)` and the equation as on each side,
    `k * (u.xx + u.yy)`. A point exactly on the interface has the positive side.

    The normal has the coordinates `on`, by default all except `t`. Without a `field`
    the conditions are those of all fields. Conditions of one interface must have the
    same `level`, not a copy. Several interfaces may divide the domain into more parts.
    `penalty` is that of both conditions.
    """

    level: Callable[..., Any]
    coefficient: Value | tuple[Value, Value] | None
    jump: Value = eqx.field(default=0.0, kw_only=True)
    flux: Value = eqx.field(default=0.0, kw_only=True)
    on: tuple[str, ...] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def __check_init__(self):
        _check_level("Interface", self.level)
        given = self.coefficient
        is_known = callable(given) or is_number(given) or given is None
        if not is_known and not (isinstance(given, tuple) and len(given) == 2):
            raise InputError(
                "`Interface(coefficient=...)` must be a pair (k_negative, k_positive), "
                f"one value or None, got {given!r}."
            )
        if given is None and (callable(self.flux) or self.flux != 0):
            raise InputError(
                f"`Interface(flux={self.flux!r})` needs a `coefficient`: give the pair "
                "(k_negative, k_positive)."
            )

    def conditions(self, fields: tuple[str, ...]) -> list[AbstractCondition]:
        """Return the conditions of the loss, for each field."""
        names = fields if self.field is None else (self.field,)
        found: list[AbstractCondition] = []
        for name in names:
            field = None if len(fields) == 1 and self.field is None else name
            of: dict[str, Any] = {"level": self.level, "on": self.on, "field": field}
            found.append(Jump(value=self.jump, **of, penalty=self._penalty("jump")))
            if pair := self._pair():
                of |= {"coefficients": pair, "penalty": self._penalty("flux")}
                found.append(FluxJump(value=self.flux, **of))
        return found

    def _pair(self) -> tuple[Value, Value] | None:
        """Return the coefficients of the negative and of the positive side."""
        given = self.coefficient
        if given is None:
            return None
        return (given[0], given[1]) if isinstance(given, tuple) else (given, given)

    def _penalty(self, kind: str) -> Penalty:
        if self.penalty.name is None:
            return self.penalty
        return dataclasses.replace(self.penalty, name=f"{self.penalty.name} {kind}")


class AbstractInterfaceCondition(AbstractCondition):
    """A condition that joins the fields on both sides of an interface.

    `residual` receives each field twice, with a name that ends with `-` or `+`. The
    `numbers` are the normal, then the size of a rounding error along it.
    """

    level: eqx.AbstractVar[Callable[..., Any]]
    on: eqx.AbstractVar[tuple[str, ...] | None]

    @override
    def check(self, domain: AbstractDomain) -> None:
        unknown = [n for n in self.on or () if n not in domain.coordinates]
        if unknown or self.on == ():
            raise InputError(
                f"The interface has `on={self.on!r}`, but the coordinates of the "
                f"domain are {', '.join(domain.coordinates)}."
            )
        if domain.num_available is not None:
            raise InputError(
                f"An interface needs points between those of the domain, but the "
                f"{type(domain).__name__} has only {domain.num_available:,} points."
            )
        self.sample(domain, 1, seed=0)

    @override
    def num_available(self, domain: AbstractDomain) -> int | None:
        return self.level_set(domain).num_available

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        points, normals = self.level_set(domain).sample(num_points, seed=seed)
        ends = [domain.bounds(name) for name in domain.coordinates]
        sizes = [max(abs(low), abs(high), high - low) for low, high in ends]
        return points, np.column_stack([normals, np.abs(normals) @ np.array(sizes)])

    def level_set(self, domain: AbstractDomain) -> LevelSet:
        """Return the interface in a domain."""
        names = domain.coordinates
        columns = tuple(map(names.index, self._on(names)))
        return LevelSet(LevelFn(self.level, names), domain, columns, "an interface")

    def beside(
        self, point: Float[Array, " dim"], numbers: Array, is_positive: Any
    ) -> Float[Array, " dim"]:
        """Return a point on one side, a few rounding errors from the interface."""
        distance = _ROUNDING_ERRORS * jnp.finfo(point.dtype).eps * numbers[-1]
        return point + jnp.where(is_positive, distance, -distance) * numbers[:-1]

    def normal_derivative(
        self, field: Field, point: Point, numbers: Float[Array, " numbers"]
    ) -> Any:
        """Return `du/dn`."""
        names, order = self._on(tuple(point)), list(point)
        normal = numbers.astype(field.value.dtype)
        parts = [normal[order.index(name)] * field.d(name) for name in names]
        return sum(parts[1:], start=parts[0])

    def both_sides(self, fields: Fields) -> list[Field]:
        """Return the field of this condition on the negative and the positive side."""
        name = self.field or next(iter(fields)).removesuffix(SIDES[0])
        return [fields[name + side] for side in SIDES]

    def _on(self, coordinates: tuple[str, ...]) -> tuple[str, ...]:
        in_space = tuple(name for name in coordinates if name != _TIME)
        return self.on or in_space or coordinates


class LevelFn(eqx.Module):
    """A level as a function of one vector, checked."""

    level: Callable[..., Any]
    coordinates: tuple[str, ...]

    def __call__(self, point: Float[Array, " dim"]) -> Float[Array, ""]:
        """Return the level at a point."""
        place = {name: point[k] for k, name in enumerate(self.coordinates)}
        return evaluate_value(self.level, place, "interface", point)


class Jump(AbstractInterfaceCondition):
    """`u_positive - u_negative = value` on an interface; a part of `Interface`."""

    value: Value
    level: Callable[..., Any]
    on: tuple[str, ...] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def label(self) -> str:
        return "jump" if self.field is None else f"jump of {self.field}"

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        negative, positive = self.both_sides(fields)
        found = positive.value - negative.value
        return found - evaluate_value(self.value, point, self.label(), found)


class FluxJump(AbstractInterfaceCondition):
    """`k_positive du_positive/dn - k_negative du_negative/dn = value` on an interface;
    a part of `Interface`. `coefficients` is the pair `(k_negative, k_positive)`."""

    value: Value
    coefficients: tuple[Value, Value]
    level: Callable[..., Any]
    on: tuple[str, ...] | None = eqx.field(default=None, kw_only=True)
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def label(self) -> str:
        return "flux" if self.field is None else f"flux of {self.field}"

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        fluxes = []
        here = jnp.stack(list(point.values()))
        for k, field in enumerate(self.both_sides(fields)):
            values = self.beside(here, numbers.astype(here.dtype), bool(k))
            place = {name: values[i] for i, name in enumerate(point)}
            factor = evaluate_value(self.coefficients[k], place, "flux", field.value)
            fluxes.append(factor * self.normal_derivative(field, point, numbers))
        found = fluxes[1] - fluxes[0]
        return found - evaluate_value(self.value, point, self.label(), found)


class InterfaceConstraint(AbstractInterfaceCondition):
    """`value(negative, positive, x, y, ..., normal) = 0` on an interface.

    A condition that couples fields, or that is of higher order. `negative` and
    `positive` hold the fields of the two sides, as in `positive.u.x - negative.v`.
    Coordinates and the normal, towards the positive side, follow. Write coefficients
    that jump as one number or function for each side. `level` and `on` are those of
    `Interface`.
    """

    is_of_one_field: ClassVar[bool] = False
    field: ClassVar[None] = None

    value: Callable[..., Any]
    level: Callable[..., Any]
    on: tuple[str, ...] | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def __check_init__(self):
        _check_level("InterfaceConstraint", self.level)

    @override
    def label(self) -> str:
        return "interface"

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        dtype = next(iter(fields.values())).value.dtype
        names = ("negative", "positive", *point, "normal")
        check_argument_names(self.value, names, "value", self.label())
        both = [
            {n[:-1]: field for n, field in fields.items() if n.endswith(side)}
            for side in SIDES
        ]
        normal = numbers[:-1].astype(dtype)
        arguments = *(SimpleNamespace(**each) for each in both), *point.values(), normal
        found = jnp.asarray(self.value(*arguments))
        if found.shape != () or not jnp.issubdtype(found.dtype, jnp.floating):
            raise InputError(
                f"`value` of the condition `{self.label()}` must be one real number, "
                f"got {found.dtype} of shape {found.shape}."
            )
        return found


def _check_level(kind: str, level: Any) -> None:
    if not callable(level):
        raise InputError(
            f"`{kind}(level=...)` must be a function of all coordinates that is zero "
            f"on the interface, got {level!r}."
        )
