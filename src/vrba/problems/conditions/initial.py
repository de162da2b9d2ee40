"""The solution at the first time."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ...core import check_least
from ...domains import AbstractDomain
from ._base import (
    AbstractCondition,
    Fields,
    Penalty,
    Point,
    Sampled,
    Value,
    check_inside,
    evaluate,
)


class Initial(AbstractCondition):
    """`u = value` at the lower end of `on`; with `order=1`, its first derivative by it.

    `value` is a number or a function of the other coordinates.
    """

    value: Value
    on: str = "t"
    order: int = 0
    of: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def __check_init__(self):
        """Derivatives are counted from zero."""
        check_least(order=(self.order, 0))

    def label(self) -> str:
        """For instance `initial` or `initial d1 of v`."""
        name = "initial" if self.order == 0 else f"initial d{self.order}"
        return name if self.of is None else f"{name} of {self.of}"

    def check(self, domain: AbstractDomain) -> None:
        """The coordinate must exist."""
        check_inside(domain, self.on, None, self.label())

    def num_available(self, domain: AbstractDomain) -> int | None:
        """As many as the domain has there."""
        return domain.num_on_face(self.on, domain.bounds(self.on)[0])

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Points of the lower face."""
        lower, _ = domain.bounds(self.on)
        points = domain.sample_face(num_points, self.on, lower, seed=seed)
        return points, np.zeros_like(points)

    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        """`u - value`."""
        found = self.field(fields).d(*[self.on] * self.order)
        label, without = self.label(), self.on
        return found - evaluate(self.value, point, label, found, without=without)
