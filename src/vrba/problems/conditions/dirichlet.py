"""The solution on a boundary."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...domains import AbstractDomain
from ._base import Fields, Number, Penalty, Point, Value, evaluate
from ._boundary import AbstractBoundaryCondition


class Dirichlet(AbstractBoundaryCondition):
    """`u = value` where the coordinate `on` is `at`; not given, on all faces across it.
    Or on the part of the boundary that lies on that of the shape `on`.

    `value` is a number or a function of all coordinates.
    """

    needs_direction: ClassVar[bool] = False
    needs_normals: ClassVar[bool] = False

    value: Value
    on: str | AbstractDomain
    at: Number | None = None
    where: Callable[..., Any] | None = eqx.field(default=None, kw_only=True)
    of: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " dim"]
    ) -> Float[Array, ""]:
        """`u - value`."""
        found = self.field(fields).value
        return found - evaluate(self.value, point, self.label(), found)
