"""The solution and its slope on a face."""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ...fields import Field
from ._base import Number, Point, Soft, Value, evaluate
from ._face import AbstractFaceCondition


class Robin(AbstractFaceCondition):
    """`factor u + slope du/dn = value` where the coordinate `on` is `at`; not given, at
    both its ends. The normal `n` points outwards.

    `value`, `factor` and `slope` are numbers or functions of all coordinates.
    """

    needs_direction: ClassVar[bool] = True

    value: Value
    on: str
    at: Number | None = None
    factor: Value = 1.0
    slope: Value = 1.0
    of: str | None = eqx.field(default=None, kw_only=True)
    soft: Soft = eqx.field(default=Soft(), kw_only=True)

    def residual(
        self, field: Field, point: Point, number: Float[Array, ""]
    ) -> Float[Array, ""]:
        """`factor u + slope du/dn - value`."""
        found = field.value
        get = lambda value: evaluate(value, [*point.values()], self.label(), found)
        outward = number.astype(found.dtype) * field.d(self.on)
        return get(self.factor) * found + get(self.slope) * outward - get(self.value)
