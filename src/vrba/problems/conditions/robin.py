"""The solution and its slope on a boundary."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...domains import AbstractDomain
from ._base import Fields, Number, Penalty, Point, Value, evaluate
from ._boundary import AbstractBoundaryCondition


class Robin(AbstractBoundaryCondition):
    """`factor u + slope du/dn = value` where the coordinate `on` is `at`; not given, on
    all faces across it. Or on the part of the boundary that lies on that of the shape
    `on`. The normal `n` points outwards.

    `value`, `factor` and `slope` are numbers or functions of all coordinates.
    """

    needs_direction: ClassVar[bool] = True
    needs_normals: ClassVar[bool] = True

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    factor: Value = 1.0
    slope: Value = 1.0
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    of: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        """`factor u + slope du/dn - value`."""
        field = self.field(fields)
        found = field.value
        get = lambda value: evaluate(value, point, self.label(), found)
        outward = self.along_normal(field, point, numbers)
        return get(self.factor) * found + get(self.slope) * outward - get(self.value)
