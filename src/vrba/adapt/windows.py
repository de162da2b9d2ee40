"""Time marching: points up to a front, which moves on when they are solved."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import check_between, check_count, float_dtype
from ._around import AbstractWrapperState
from ._base import AbstractPolicy
from ._residual import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_residual,
    count_once,
    size_of,
)
from ._timed import AbstractTimed, bins_of, root_mean_square


class WindowState(AbstractWrapperState):
    """The wrapped policy's state, the window of each point, and where the front is."""

    inner: Any
    windows: Int[Array, " points"]
    num_open: Int[Array, ""]
    num_rounds: Int[Array, ""]  # updates since the front moved
    first: Float[Array, ""]  # the residual of all points when first seen; zero before


class TimeWindowWeights(AbstractTimed):
    """Any policy, on points up to a front that moves on window by window.

    The whole time is cut into `num_windows` equal parts, and only the first is open.
    The next one opens when the root mean square residual of the open points is below
    `tolerance` times that of all points at the first update, and at the latest after
    `max_updates` updates, until all are open: then the wrapped policy is alone. It is
    told that residuals beyond the front are zero.
    """

    policy: AbstractPolicy
    num_windows: int = 5
    tolerance: float = eqx.field(default=0.01, converter=float)
    max_updates: int = 3
    axis: int = eqx.field(default=0, kw_only=True)

    def __check_init__(self):
        """Settings in range."""
        check_between(tolerance=(self.tolerance, 0.0, 1.0))
        check_count(num_windows=self.num_windows, max_updates=self.max_updates)

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> WindowState:
        """The first window is open."""
        dtype = float_dtype(dtype)
        windows = bins_of(
            "TimeWindowWeights", num_points, points, self.axis, self.num_windows
        )
        return WindowState(
            inner=self.policy.init(num_points, base=base, points=points, dtype=dtype),
            windows=windows,
            num_open=jnp.ones((), jnp.int32),
            num_rounds=jnp.zeros((), jnp.int32),
            first=jnp.zeros((), dtype),
        )

    def update(
        self,
        state: WindowState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> WindowState:
        """Move the front if it is time to, then update the wrapped policy."""
        ids = check_ids(ids, state.windows.size)
        residual = check_residual(residual, ids, state.windows.shape)
        return _moved(self, state, residual, ids)

    def factor(self, state: WindowState) -> Float[Array, " points"]:
        """One up to the front, zero beyond."""
        return (state.windows < state.num_open).astype(state.first.dtype)

    def objective_norm(self) -> str:
        """What the wrapped policy descends, window by window."""
        return f"{self.policy.objective_norm()}, window by window in time"


@eqx.filter_jit
def _moved(policy, state, residual, ids):
    size = size_of(jax.lax.stop_gradient(residual), 1, state.first.dtype)
    is_finite, windows = jnp.isfinite(size), state.windows
    is_counted = is_finite
    if ids is not None:
        windows = windows[ids]
        is_counted = count_once(ids, is_finite, state.windows.size)
    is_open = is_counted & (windows < state.num_open)
    first = root_mean_square(size, is_counted)
    first = jnp.where(state.first > 0, state.first, first)
    is_solved = root_mean_square(size, is_open) <= policy.tolerance * first
    is_over = state.num_rounds >= policy.max_updates
    moves = ((is_solved & jnp.any(is_open)) | is_over) & jnp.any(is_finite)
    num_open = state.num_open + moves.astype(jnp.int32)
    num_open = jnp.minimum(num_open, policy.num_windows)
    beyond = is_finite & (windows >= num_open)
    return WindowState(
        inner=policy.policy.update(state.inner, jnp.where(beyond, 0, size), ids),
        windows=state.windows,
        num_open=num_open,
        num_rounds=jnp.where(moves, 1, state.num_rounds + 1).astype(jnp.int32),
        first=first,
    )
