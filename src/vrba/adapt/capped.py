"""Residuals cut off at a multiple of their median before they are tilted."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError, check_between, check_positive
from ._around import AbstractWrapper
from ._base import AbstractPolicy
from ._residual import (
    ArrayOfIds,
    ArrayOfNumbers,
    as_shape,
    check_ids,
    check_residual,
    count_once,
    size_of,
)


class Capped(AbstractWrapper):
    """Any policy for pools of points, fed with `min(size, multiple * quantile)`.

    For data with noise: a value that is far off cannot be fitted, so its residual stays
    and would take the tilt. Normal noise of deviation `s` has a median size of `0.67 s`
    and is cut off at `4 s` by default. Where no size reaches the cap it is the wrapped
    policy exactly; where the quantile is zero there is no cap.
    """

    policy: AbstractPolicy
    multiple: float = eqx.field(default=6.0, converter=float)
    quantile: float = eqx.field(default=0.5, converter=float)

    def __check_init__(self):
        """Settings in range."""
        check_positive(multiple=self.multiple)
        check_between(quantile=(self.quantile, 0.0, 1.0))

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> Any:
        """The wrapped policy's state, which is all there is."""
        if len(as_shape(num_points)) != 1:
            raise InputError(
                "`Capped` is for pools of points: `num_points` must be one number, got "
                f"{num_points}."
            )
        return self.policy.init(num_points, base=base, points=points, dtype=dtype)

    def inner_state(self, state: Any) -> Any:
        """All of it."""
        return state

    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        """Cut off the sizes of `ids`, and update the wrapped policy."""
        base = self.policy.base(state)
        ids = check_ids(ids, base.size)
        residual = check_residual(residual, ids, base.shape)
        size = size_of(jax.lax.stop_gradient(residual), 1, base.dtype)
        is_finite = jnp.isfinite(size)
        is_counted = is_finite
        if ids is not None:
            is_counted = count_once(ids, is_finite, base.size)
        known = jnp.where(is_counted, size, jnp.nan)
        cap = self.multiple * jnp.nanquantile(known, self.quantile)
        is_cut = is_finite & (cap > 0) & (size > cap)
        share = jnp.where(is_cut, cap / jnp.where(is_cut, size, 1), 1)
        share = share.reshape(-1, *(1,) * (residual.ndim - 1))
        residual = jnp.abs(residual).astype(base.dtype) * share
        return self.policy.update(state, residual, ids)

    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        """Those of the wrapped policy."""
        return self.policy.weights(state, ids)

    def mass(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.mass(state)

    def base(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.base(state)

    def tilt(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.tilt(state)

    def is_unbiased(self) -> bool:
        """As the wrapped policy."""
        return self.policy.is_unbiased()

    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend, below the cap."""
        return f"{self.policy.objective_norm()}, of the residual cut off at outliers"
