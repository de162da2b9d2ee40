"""Exact conditions from the plain ones: an ansatz that fulfils them for any network."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain
from .conditions import Initial, evaluate_value
from .exact_shapes import ShapePiece, blend, boundary_points, joint_distance

Number = Float[Array, ""]

_NUM_POINTS = 256  # of a face, to compare conditions


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

    @property
    def place(self) -> tuple[Any, ...]:
        """Where which derivative is given."""
        return self.coordinate, self.end, self.order

    @property
    def lower_places(self) -> list[tuple[Any, ...]]:
        """The places of the derivatives that must be given too."""
        return [(self.coordinate, self.end, order) for order in range(self.order)]

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

    `g` begins with the values on shapes, `sum(g_i / phi_i) / sum(1 / phi_i)`. Then it
    is a transfinite Hermite interpolation, axis by axis:
    `g <- g + sum_j h_j(x) (d_j - C_j g)`. It is exact if the given values agree where
    faces meet. `scale` is the largest joint distance from the shapes.
    """

    axes: tuple[ExactAxis, ...]
    pieces: tuple[ShapePiece, ...] = ()
    scale: float = 1.0

    def __call__(self, point: dict[str, Number], output: Number) -> Number:
        """Return the field at a point, for an output of the network."""
        for axis in self.axes:
            output = output * axis.factor(point[axis.coordinate])
        if self.pieces:
            output = output * joint_distance(self.pieces, point) / self.scale
        return self.known(point) + output

    @property
    def has_known_part(self) -> bool:
        """Whether `g` is not zero for sure."""
        parts = [one for axis in self.axes for one in axis.given]
        values = [one.condition.value for one in (*parts, *self.pieces)]
        return any(callable(value) or value != 0 for value in values)

    def known(self, point: dict[str, Number]) -> Number:
        """Return `g`."""
        return _interpolate(self.axes, self.pieces, point)

    def mismatches(self, domain: AbstractDomain) -> list[tuple[str, float, float]]:
        """Return the place of each condition, the largest `|C g - d|` and `|d|`."""
        found = []
        for axis in self.axes:
            for one in axis.given:
                end, name = one.end, one.coordinate
                points = domain.sample_face(_NUM_POINTS, name, end, seed=0)
                read = lambda point, one=one: _derivative(self.known, point, one)
                found.append(
                    (f"{name} = {end:g}", *_compare(read, one, points, domain))
                )
        for one in self.pieces:
            points = boundary_points(one.shape, domain)
            place = f"the {type(one.shape).__name__.lower()}"
            found.append((place, *_compare(self.known, one, points, domain)))
        return found


def _compare(
    read: Callable[[dict[str, Number]], Number],
    one: EndCondition | ShapePiece,
    points: np.ndarray,
    domain: AbstractDomain,
) -> tuple[float, float]:
    """Return the largest distance from the given values, and the largest of these."""

    def at(row):
        point = dict(zip(domain.coordinates, row, strict=True))
        given = one.value(point)
        return read(point) - given, given

    found = jax.jit(jax.vmap(at))(jnp.asarray(points, float))
    distance, size = (float(jnp.max(jnp.abs(part))) for part in found)
    return distance, size


def _interpolate(
    axes: tuple[ExactAxis, ...],
    pieces: tuple[ShapePiece, ...],
    point: dict[str, Number],
) -> Number:
    if not axes and not pieces:
        return jnp.zeros_like(next(iter(point.values())))
    if not axes:
        return blend(pieces, point)
    *before, axis = axes
    inner = lambda place: _interpolate(tuple(before), pieces, place)
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

    `fields` has the form of each field, `None` without conditions, in the order of the
    problem: a dictionary would be sorted in compiled programs. `names` are those of the
    conditions that it fulfils. `reasons` say why the others remain terms of the loss.
    """

    coordinates: tuple[str, ...]
    fields: tuple[ExactField | None, ...]
    names: tuple[str, ...]
    reasons: dict[str, str]

    def __call__(self, *arguments: Number) -> tuple[Number, ...]:
        """Return the fields, given the coordinates and the outputs of the network."""
        count = len(self.coordinates)
        point = dict(zip(self.coordinates, arguments[:count], strict=True))
        each = zip(self.fields, arguments[count:], strict=True)
        return tuple(one(point, N) if one is not None else N for one, N in each)

    @property
    def has_initial(self) -> bool:
        """Whether some of the conditions are initial ones."""
        axes = [axis for one in self.fields if one is not None for axis in one.axes]
        given = [one.condition for axis in axes for one in axis.given]
        return any(isinstance(one, Initial) for one in given)

    def without(self, why: str) -> "ExactConditions":
        """Return no exact condition, for a reason."""
        reasons = dict.fromkeys(self.names, why) | self.reasons
        none = (None,) * len(self.fields)
        return ExactConditions(self.coordinates, none, (), reasons)

    def sentence(self) -> str:
        """Return which conditions are exact, and why the others are not."""
        text = f"Exact conditions: {', '.join(self.names) or 'none'}."
        each = [
            f"`{name}` stays a penalty: {why}." for name, why in self.reasons.items()
        ]
        return " ".join([text, *each])
