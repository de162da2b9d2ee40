"""The slope of the solution on a face."""

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
from .robin import check_face


class Neumann(AbstractCondition):
    """`du/dn = value` where the coordinate `on` is `at`; not given, at both its ends.
    The normal `n` points outwards.

    `value` is a number or a function of all coordinates.
    """

    has_fresh_points: ClassVar[bool] = True

    value: Value
    on: str
    at: Number | None = None
    of: str | None = eqx.field(default=None, kw_only=True)
    soft: Soft = eqx.field(default=Soft(), kw_only=True)

    def label(self) -> str:
        """For instance `neumann x=1`."""
        place = self.on if self.at is None else f"{self.on}={self.at:g}"
        return f"neumann {place}" + (f" of {self.of}" if self.of else "")

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
        """`du/dn - value`."""
        slope = number.astype(field.value.dtype) * field.d(self.on)
        return slope - evaluate(self.value, [*point.values()], self.label(), slope)
