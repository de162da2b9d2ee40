"""The slope of the solution on a boundary."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...domains import AbstractDomain
from ._base import Fields, Number, Penalty, Point, Value, evaluate
from ._boundary import AbstractBoundaryCondition


class Neumann(AbstractBoundaryCondition):
    """`du/dn = value` where the coordinate `on` is `at`; not given, on all faces across
    it. Or on the part of the boundary that lies on that of the shape `on`. The normal
    `n` points outwards.

    `value` is a number or a function of all coordinates.
    """

    needs_direction: ClassVar[bool] = True
    needs_normals: ClassVar[bool] = True

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    of: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        """`du/dn - value`."""
        slope = self.along_normal(self.field(fields), point, numbers)
        return slope - evaluate(self.value, point, self.label(), slope)
