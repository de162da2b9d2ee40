"""The solution on a face."""

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


class Dirichlet(AbstractCondition):
    """`u = value` where the coordinate `on` is `at`; not given, at both its ends.

    `value` is a number or a function of all coordinates.
    """

    has_fresh_points: ClassVar[bool] = True

    value: Value
    on: str
    at: Number | None = None
    of: str | None = eqx.field(default=None, kw_only=True)
    soft: Soft = eqx.field(default=Soft(), kw_only=True)

    def label(self) -> str:
        """For instance `dirichlet x`."""
        place = self.on if self.at is None else f"{self.on}={self.at:g}"
        return f"dirichlet {place}" + (f" of {self.of}" if self.of else "")

    def check(self, domain: AbstractDomain) -> None:
        """The place must be in the domain."""
        check_inside(domain, self.on, self.at, self.label())

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points of the face or faces."""
        return sample_faces(domain, self.on, self.at, num_points, seed)

    def residual(
        self, field: Field, point: Point, number: Float[Array, ""]
    ) -> Float[Array, ""]:
        """`u - value`."""
        found = field.value
        return found - evaluate(self.value, [*point.values()], self.label(), found)
