"""Measured values."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ...core import InputError, as_floats
from ...domains import AbstractDomain
from ._base import AbstractCondition, Fields, Penalty, Point, Sampled


class Data(AbstractCondition):
    """`u = values` at `points`, one row of coordinates for each value.

    Of 50 values or more a fifth is held out, to select an iterate by, unless they are
    known exactly and `penalty=Penalty(holds_out=False)` says so.
    """

    points: Any = eqx.field(converter=lambda x: as_floats("points", x))
    values: Any = eqx.field(converter=lambda x: as_floats("values", x))
    of: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    def label(self) -> str:
        """`data`, with the field if it is named."""
        return "data" if self.of is None else f"data of {self.of}"

    def check(self, domain: AbstractDomain) -> None:
        """Shapes fit, numbers are finite, points are inside."""
        count, dim = self.values.size, len(domain.coordinates)
        if self.values.ndim != 1 or self.points.shape != (count, dim) or count == 0:
            raise InputError(
                f"`{self.label()}` needs points of shape (n, {dim}) and n values, got "
                f"shapes {self.points.shape} and {self.values.shape}."
            )
        is_good = domain.contains(self.points) & np.isfinite(self.values)
        if not np.all(is_good):
            row = int(np.argmin(is_good))
            raise InputError(
                f"`{self.label()}`: row {row}, point {self.points[row].tolist()} with "
                f"value {self.values[row]:g}, is not finite or outside the domain."
            )

    def num_available(self, domain: AbstractDomain) -> int:
        """As many as were measured."""
        return self.values.size

    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """All of them."""
        return self.points, self.values[:, None]

    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        """`u - value`."""
        found = self.field(fields).value
        return found - numbers[0].astype(found.dtype)
