"""Exact conditions from the plain ones: an ansatz that fulfils them for any network."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain, Box
from .conditions import (
    AbstractCondition,
    Dirichlet,
    Initial,
    Neumann,
    Penalty,
    evaluate_value,
)

Number = Float[Array, ""]

_NUM_POINTS = 256  # of a face, to compare conditions
_TOLERANCE = 1e-6  # of the largest given value


class EndCondition(eqx.Module):
    """`(d/dx)^order u = value` at one end of the coordinate `x`.

    `name` is that of the condition. A Neumann condition has the sign of the outward
    normal.
    """

    name: str
    condition: Any
    coordinate: str
    end: float
    order: int
    sign: float = 1.0

    def value(self, point: dict[str, Number]) -> Number:
        """Return the given value at a point of the face."""
        without = self.coordinate if isinstance(self.condition, Initial) else None
        like = point[self.coordinate]
        value = self.condition.value
        found = evaluate_value(value, point, self.name, like, without=without)
        return self.sign * found


class ExactAxis(eqx.Module):
    """The conditions of one field across one coordinate.

    `polynomials` holds the coefficients, lowest first, of the Hermite polynomial of
    each condition in `s = (x - lower) / (upper - lower)`. It fulfils this condition
    with value one, and the others with value zero.
    """

    coordinate: str
    lower: float
    upper: float
    given: tuple[EndCondition, ...]
    polynomials: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(
        coordinate: str, ends: tuple[float, float], given: tuple[EndCondition, ...]
    ) -> "ExactAxis":
        """Return the axis of some conditions, with their polynomials."""
        lower, upper = ends
        length, count = upper - lower, len(given)
        rows = np.zeros((count, count))
        for row, one in zip(rows, given, strict=True):
            share = (one.end - lower) / length
            for power in range(one.order, count):
                slope = math.perm(power, one.order) * share ** (power - one.order)
                row[power] = slope / length**one.order
        found = np.linalg.inv(rows).T.tolist()
        return ExactAxis(coordinate, lower, upper, given, tuple(map(tuple, found)))

    def share(self, x: Number) -> Number:
        """Return the coordinate between zero and one."""
        return (x - self.lower) / (self.upper - self.lower)

    def factor(self, x: Number) -> Number:
        """Return `s^p (1 - s)^q`, with maximum one: zero like the conditions ask."""
        below = sum(one.end == self.lower for one in self.given)
        above = len(self.given) - below
        share, total = self.share(x), below + above
        largest = (below / total) ** below * (above / total) ** above
        return share**below * (1 - share) ** above / largest


class ExactField(eqx.Module):
    """`u = g + D N`: `g` fulfils the conditions of a field, and `D` vanishes on them.

    `g` is a transfinite Hermite interpolation, axis by axis:
    `g <- g + sum_j h_j(x) (d_j - C_j g)`. It is exact if the given values agree where
    faces meet.
    """

    axes: tuple[ExactAxis, ...]

    def __call__(self, point: dict[str, Number], output: Number) -> Number:
        """Return the field at a point, for an output of the network."""
        for axis in self.axes:
            output = output * axis.factor(point[axis.coordinate])
        return self.known(point) + output

    def known(self, point: dict[str, Number]) -> Number:
        """Return `g`."""
        return _interpolate(self.axes, point)

    def mismatch(
        self, one: EndCondition, domain: AbstractDomain
    ) -> tuple[float, float]:
        """Return the largest `|C g - d|` on the face of a condition, and of `|d|`."""
        points = domain.sample_face(_NUM_POINTS, one.coordinate, one.end, seed=0)
        names = domain.coordinates

        def at(row):
            point = dict(zip(names, row, strict=True))
            given = one.value(point)
            return _derivative(self.known, point, one) - given, given

        found = jax.jit(jax.vmap(at))(jnp.asarray(points, float))
        distance, size = (float(jnp.max(jnp.abs(part))) for part in found)
        return distance, size


def _interpolate(axes: tuple[ExactAxis, ...], point: dict[str, Number]) -> Number:
    if not axes:
        return jnp.zeros_like(next(iter(point.values())))
    *before, axis = axes
    inner = lambda place: _interpolate(tuple(before), place)
    share, total = axis.share(point[axis.coordinate]), inner(point)
    for one, polynomial in zip(axis.given, axis.polynomials, strict=True):
        end = jnp.full_like(point[axis.coordinate], one.end)
        place = point | {axis.coordinate: end}
        missing = one.value(place) - _derivative(inner, place, one)
        total = total + _evaluate_polynomial(polynomial, share) * missing
    return total


def _derivative(
    fn: Callable[[dict[str, Number]], Number],
    point: dict[str, Number],
    one: EndCondition,
) -> Number:
    """Return the derivative that a condition restricts."""
    along = lambda x: fn(point | {one.coordinate: x})
    for _ in range(one.order):
        along = lambda x, fn=along: jax.jvp(fn, (x,), (jnp.ones_like(x),))[1]
    return along(point[one.coordinate])


def _evaluate_polynomial(coefficients: tuple[float, ...], share: Number) -> Number:
    total = jnp.zeros_like(share)
    for coefficient in reversed(coefficients):
        total = total * share + coefficient
    return total


class ExactConditions(eqx.Module):
    """The ansatz that some conditions of a problem become.

    `names` are those of the conditions that it fulfils. `reasons` say why the others
    remain terms of the loss.
    """

    coordinates: tuple[str, ...]
    fields: dict[str, ExactField | None]
    names: tuple[str, ...]
    reasons: dict[str, str]

    def __call__(self, *arguments: Number) -> tuple[Number, ...]:
        """Return the fields, given the coordinates and the outputs of the network."""
        count = len(self.coordinates)
        point = dict(zip(self.coordinates, arguments[:count], strict=True))
        each = zip(self.fields.values(), arguments[count:], strict=True)
        return tuple(one(point, N) if one is not None else N for one, N in each)

    def without(self, why: str) -> "ExactConditions":
        """Return no exact condition, for a reason."""
        reasons = dict.fromkeys(self.names, why) | self.reasons
        fields: dict[str, ExactField | None] = dict.fromkeys(self.fields)
        return ExactConditions(self.coordinates, fields, (), reasons)

    def sentence(self) -> str:
        """Return which conditions are exact, and why the others are not."""
        text = f"Exact conditions: {', '.join(self.names) or 'none'}."
        each = [
            f"`{name}` stays a penalty: {why}." for name, why in self.reasons.items()
        ]
        return " ".join([text, *each])


def find_exact_conditions(
    domain: AbstractDomain,
    fields: tuple[str, ...],
    periodic: tuple[str, ...],
    conditions: dict[str, AbstractCondition],
) -> ExactConditions:
    """Find the conditions that an ansatz can fulfil exactly.

    These are initial values and rates, and on a box values and normal derivatives on
    whole faces. A derivative needs the lower ones at the same place. Conditions with a
    `Penalty` of their own remain, and those whose values disagree where faces meet.
    """
    reasons, known = {}, {}
    for name, condition in conditions.items():
        found = _end_conditions(name, condition, domain, periodic)
        if isinstance(found, str):
            reasons[name] = found
        else:
            known[name] = condition.field or fields[0], found
    _leave_out_incomplete(known, reasons)
    forms = {field: _field_of(field, known, domain) for field in fields}
    for field, form in forms.items():
        if form is None:
            continue
        if why := _disagreement(form, domain):
            forms[field] = None
            left = [name for name, (of, _) in known.items() if of == field]
            reasons |= dict.fromkeys(left, why)
    exact = tuple(name for name in known if name not in reasons)
    ordered = {name: reasons[name] for name in conditions if name in reasons}
    return ExactConditions(domain.coordinates, forms, exact, ordered)


def _end_conditions(
    name: str,
    condition: AbstractCondition,
    domain: AbstractDomain,
    periodic: tuple[str, ...],
) -> list[EndCondition] | str:
    """Return the parts of a condition at ends of coordinates, or why it has none."""
    if condition.penalty != Penalty():
        return "it has a `Penalty` of its own"
    if isinstance(condition, Initial):
        lower = domain.bounds(condition.on)[0]
        if lower not in domain.planes(condition.on):
            return f"the domain has no face at {condition.on} = {lower:g}"
        return [EndCondition(name, condition, condition.on, lower, condition.order)]
    if not isinstance(condition, Dirichlet | Neumann):
        return "only values, normal derivatives and initial values have an exact form"
    if not isinstance(domain, Box) or condition.where is not None:
        return "only whole faces of a box have an exact form"
    axes = (condition.on,) if isinstance(condition.on, str) else domain.coordinates
    if not isinstance(condition.on, str) and condition.on != domain:
        return "only whole faces of a box have an exact form"
    faces = [
        (axis, float(end))
        for axis in axes
        for end in (domain.bounds(axis) if condition.at is None else (condition.at,))
    ]
    if any(end not in domain.bounds(axis) or axis in periodic for axis, end in faces):
        return "it is not on a face"
    order = int(isinstance(condition, Neumann))
    outward = lambda axis, end: 1.0 if end == domain.bounds(axis)[1] else -1.0
    return [
        EndCondition(name, condition, *face, order, outward(*face) ** order)
        for face in faces
    ]


def _leave_out_incomplete(
    known: dict[str, tuple[str, list[EndCondition]]], reasons: dict[str, str]
) -> None:
    """Move conditions that repeat others or lack lower derivatives to `reasons`."""
    while True:
        places = {}
        for name, (field, ends) in known.items():
            for one in ends:
                place = (field, one.coordinate, one.end, one.order)
                places.setdefault(place, name)
        for name, (field, ends) in known.items():
            for one in ends:
                at = (field, one.coordinate, one.end)
                if places[*at, one.order] != name:
                    reasons[name] = f"it repeats `{places[*at, one.order]}`"
                elif any((*at, lower) not in places for lower in range(one.order)):
                    reasons[name] = "the value itself is not given at the same place"
        left = [name for name in known if name in reasons]
        if not left:
            return
        for name in left:
            del known[name]


def _field_of(
    field: str,
    known: dict[str, tuple[str, list[EndCondition]]],
    domain: AbstractDomain,
) -> ExactField | None:
    """Return the form of a field, initial values first; `None` without conditions."""
    by_axis: dict[str, list[EndCondition]] = {}
    for of, ends in known.values():
        for one in ends if of == field else []:
            by_axis.setdefault(one.coordinate, []).append(one)
    if not by_axis:
        return None
    is_initial = lambda ends: any(isinstance(one.condition, Initial) for one in ends)
    place = lambda name: (not is_initial(by_axis[name]), domain.position(name))
    axes = [
        ExactAxis.of(name, domain.bounds(name), tuple(by_axis[name]))
        for name in sorted(by_axis, key=place)
    ]
    return ExactField(tuple(axes))


def _disagreement(form: ExactField, domain: AbstractDomain) -> str:
    """Say which condition the form violates where faces meet; empty if none."""
    given = [one for axis in form.axes for one in axis.given]
    found = [(one, *form.mismatch(one, domain)) for one in given]
    largest = max(size for _, _, size in found) or 1.0
    for one, distance, _ in found:
        if not distance <= _TOLERANCE * largest:
            return (
                f"the values given at {one.coordinate} = {one.end:g} and on other "
                f"faces differ by {distance:.1e} where they meet"
            )
    return ""
