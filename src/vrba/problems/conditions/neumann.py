"""The slope of the solution on a face."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...fields import Field
from ._base import Number, Point, Soft, Value, evaluate
from ._face import AbstractFaceCondition


class Neumann(AbstractFaceCondition):
    """`du/dn = value` where the coordinate `on` is `at`; not given, at both its ends.
    The normal `n` points outwards.

    `value` is a number or a function of all coordinates.
    """

    needs_direction: ClassVar[bool] = True

    value: Value
    on: str
    at: Number | None = None
    of: str | None = eqx.field(default=None, kw_only=True)
    soft: Soft = eqx.field(default=Soft(), kw_only=True)

    def residual(
        self, field: Field, point: Point, number: Float[Array, ""]
    ) -> Float[Array, ""]:
        """`du/dn - value`."""
        slope = number.astype(field.value.dtype) * field.d(self.on)
        return slope - evaluate(self.value, [*point.values()], self.label(), slope)
