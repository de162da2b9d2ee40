"""Initial conditions."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

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
    evaluate_value,
)


class Initial(AbstractCondition):
    """`u = value` at the lower end of `on`; with `order=1` its first derivative.

    `value` is a number or a function of the other coordinates.
    """

    value: Value
    on: str = "t"
    order: int = 0
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def __check_init__(self):
        check_least(order=(self.order, 0))

    @override
    def label(self) -> str:
        name = "initial" if self.order == 0 else f"initial d{self.order}"
        return name if self.field is None else f"{name} of {self.field}"

    @override
    def check(self, domain: AbstractDomain) -> None:
        check_inside(domain, self.on, None, self.label())

    @override
    def num_available(self, domain: AbstractDomain) -> int | None:
        return domain.num_on_face(self.on, domain.bounds(self.on)[0])

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        lower, _ = domain.bounds(self.on)
        points = domain.sample_face(num_points, self.on, lower, seed=seed)
        return points, np.zeros_like(points)

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        found = self.select_field(fields).d(*[self.on] * self.order)
        label, without = self.label(), self.on
        return found - evaluate_value(self.value, point, label, found, without=without)

    def without_values(self) -> "GivenInitial":
        """Return the same condition with values that come with each point."""
        return GivenInitial(self.on, self.order, field=self.field, penalty=self.penalty)


class GivenInitial(AbstractCondition):
    """`u`, or its derivative of an `order`, has the value in `numbers` at each point.

    The initial condition of a slab of time: another slab has other values in the same
    program. `sample` returns zeros, which the caller replaces.
    """

    on: str
    order: int
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def label(self) -> str:
        return Initial(0.0, self.on, self.order, field=self.field).label()

    @override
    def check(self, domain: AbstractDomain) -> None:
        check_inside(domain, self.on, None, self.label())

    @override
    def num_available(self, domain: AbstractDomain) -> int | None:
        return domain.num_on_face(self.on, domain.bounds(self.on)[0])

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        lower, _ = domain.bounds(self.on)
        points = domain.sample_face(num_points, self.on, lower, seed=seed)
        return points, np.zeros((len(points), 1))

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        found = self.select_field(fields).d(*[self.on] * self.order)
        return found - numbers[0].astype(found.dtype)
