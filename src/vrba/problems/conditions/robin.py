"""The solution and its slope on a face."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...domains import AbstractDomain
from ...fields import Field
from ._base import (
    AbstractCondition,
    Number,
    Point,
    Sampled,
    Soft,
    Value,
    check_inside,
    evaluate,
    sample_faces,
)


class Robin(AbstractCondition):
    """`factor u + slope du/dn = value` where the coordinate `on` is `at`; not given, at
    both its ends. The normal `n` points outwards.

    `value`, `factor` and `slope` are numbers or functions of all coordinates.
    """

    has_fresh_points: ClassVar[bool] = True

    value: Value
    on: str
    at: Number | None = None
    factor: Value = 1.0
    slope: Value = 1.0
    of: str | None = eqx.field(default=None, kw_only=True)
    soft: Soft = eqx.field(default=Soft(), kw_only=True)

    def label(self) -> str:
        """For instance `robin x=1`."""
        place = self.on if self.at is None else f"{self.on}={self.at:g}"
        return f"robin {place}" + (f" of {self.of}" if self.of else "")

    def check(self, domain: AbstractDomain) -> None:
        """The place must be a face of the domain."""
        check_inside(domain, self.on, self.at, self.label())
        check_face(domain, self.on, self.at, self.label())

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points of the face or faces, with the direction outwards."""
        return sample_faces(domain, self.on, self.at, num_points, seed)

    def residual(
        self, field: Field, point: Point, number: Float[Array, ""]
    ) -> Float[Array, ""]:
        """`factor u + slope du/dn - value`."""
        found = field.value
        get = lambda value: evaluate(value, [*point.values()], self.label(), found)
        outward = number.astype(found.dtype) * field.d(self.on)
        return get(self.factor) * found + get(self.slope) * outward - get(self.value)


def check_face(
    domain: AbstractDomain, coordinate: str, at: Number | None, label: str
) -> None:
    """Refuses a place inside the domain, where no direction is outwards."""
    if at is not None and at not in domain.bounds(coordinate):
        lower, upper = domain.bounds(coordinate)
        raise ValueError(
            f"The condition `{label}` needs a face, {coordinate} = {lower:g} or "
            f"{upper:g}, got {at:g}."
        )
