"""Residuals cut off at a multiple of their median before they are tilted."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import check_between, check_positive
from ._base import AbstractPolicy
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_residual,
    no_equation_axis,
    pool_size,
)
from ._wrapper import AbstractWrapper, batch_sizes


class Capped(AbstractWrapper):
    """Wrap a policy for pools of points; it sees `min(size, multiple * quantile)`.

    Use it for noisy data: an outlier cannot be fitted, so its residual stays large and
    would dominate the tilt. Normal noise of deviation `s` has a median size of `0.67 s`
    and is cut off at `4 s` by default. If no size reaches the cap, the result is that
    of the wrapped policy. If the quantile is zero, there is no cap.
    """

    policy: AbstractPolicy
    multiple: float = eqx.field(default=6.0, converter=float, static=True)
    quantile: float = eqx.field(default=0.5, converter=float, static=True)

    def __check_init__(self):
        check_positive(multiple=self.multiple)
        check_between(quantile=(self.quantile, 0.0, 1.0))

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> Any:
        """Make the wrapped policy's state; there is no other."""
        pool_size("Capped", num_points)
        return self.policy.init(num_points, base=base, points=points, dtype=dtype)

    @override
    def inner_state(self, state: Any) -> Any:
        return state

    @override
    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        base = self.policy.base(state)
        ids = check_ids(ids, base.size)
        residual = check_residual(residual, ids, base.shape, no_equation_axis())
        size, is_finite, is_counted = batch_sizes(residual, ids, base.size, base.dtype)
        known = jnp.where(is_counted, size, jnp.nan)
        cap = self.multiple * jnp.nanquantile(known, self.quantile)
        is_cut = is_finite & (cap > 0) & (size > cap)
        share = jnp.where(is_cut, cap / jnp.where(is_cut, size, 1), 1)
        share = share.reshape(-1, *(1,) * (residual.ndim - 1))
        residual = jnp.abs(residual).astype(base.dtype) * share
        return self.policy.update(state, residual, ids)

    @override
    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        return self.policy.weights(state, ids)

    @override
    def mass(self, state: Any) -> Float[Array, " points"]:
        return self.policy.mass(state)

    @override
    def tilt(self, state: Any) -> Float[Array, " points"]:
        return self.policy.tilt(state)

    @override
    def is_unbiased(self) -> bool:
        return self.policy.is_unbiased()

    @override
    def objective_norm(self) -> str:
        return f"{self.policy.objective_norm()}, of the residual cut off at outliers"
