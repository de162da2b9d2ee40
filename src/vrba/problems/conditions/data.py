"""Measured values."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError, as_floats
from ...domains import AbstractDomain
from ._base import AbstractCondition, Fields, Penalty, Point, Sampled


class Data(AbstractCondition):
    """`u = values` at `points`, one row of coordinates for each value.

    Of 50 values or more a fifth is held out to select the best iterate. For exact
    values, `penalty=Penalty(holds_out=False)` trains on all of them.
    """

    points: Any = eqx.field(converter=lambda x: as_floats("points", x))
    values: Any = eqx.field(converter=lambda x: as_floats("values", x))
    field: str | None = eqx.field(default=None, kw_only=True)
    penalty: Penalty = eqx.field(default=Penalty(), kw_only=True)

    @override
    def label(self) -> str:
        return "data" if self.field is None else f"data of {self.field}"

    @override
    def check(self, domain: AbstractDomain) -> None:
        count, dim = self.values.size, len(domain.coordinates)
        if self.values.ndim != 1 or self.points.shape != (count, dim) or count == 0:
            raise InputError(
                f"`{self.label()}` needs points of shape (n, {dim}) and n values, got "
                f"shapes {self.points.shape} and {self.values.shape}."
            )
        is_valid = domain.contains(self.points) & np.isfinite(self.values)
        if not np.all(is_valid):
            row = int(np.argmin(is_valid))
            raise InputError(
                f"`{self.label()}`: row {row}, point {self.points[row].tolist()} with "
                f"value {self.values[row]:g}, is not finite or outside the domain."
            )

    @override
    def num_available(self, domain: AbstractDomain) -> int:
        return self.values.size

    @override
    def sample(self, domain: AbstractDomain, num_points: int, *, seed: int) -> Sampled:
        """Return all measured values, whatever `num_points` is."""
        return self.points, self.values[:, None]

    @override
    def residual(
        self, fields: Fields, point: Point, numbers: Float[Array, " numbers"]
    ) -> Float[Array, ""]:
        found = self.select_field(fields).value
        return found - numbers[0].astype(found.dtype)
