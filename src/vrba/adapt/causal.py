"""Early times first: later points count once earlier ones are solved."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import check_count, check_positive, float_dtype
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


class CausalState(AbstractWrapperState):
    """The wrapped policy's state, the bin of each point, and the residual of bins."""

    inner: Any
    bins: Int[Array, " points"]
    rms: Float[Array, " bins"]  # last seen; zero where nothing was
    first: Float[Array, ""]  # over all bins, when first seen; zero before


class Causal(AbstractTimed):
    """Any policy, times `exp(-tolerance * earlier residual)` in each bin of time.

    The earlier residual of bin `b` of `n` is `sum_{k < b} m_k / (n m)`, with `m_k` the
    mean square of the residual in bin `k` and `m` its mean over bins at the first
    update. So it has no unit, hardly depends on `num_bins`, and starts near one for the
    last bin. Once mean squares have fallen well below `m / tolerance`, all factors are
    one and the wrapped policy is alone. (after Wang, Sankaran and Perdikaris 2022, who
    leave out `n m`)
    """

    policy: AbstractPolicy
    tolerance: float = eqx.field(default=100.0, converter=float)
    num_bins: int = 32
    axis: int = eqx.field(default=0, kw_only=True)

    def __check_init__(self):
        """Settings in range."""
        check_positive(tolerance=self.tolerance)
        check_count(num_bins=self.num_bins)

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> CausalState:
        """Factors of one: no residual is known."""
        dtype = float_dtype(dtype)
        bins = bins_of("Causal", num_points, points, self.axis, self.num_bins)
        return CausalState(
            inner=self.policy.init(num_points, base=base, points=points, dtype=dtype),
            bins=bins,
            rms=jnp.zeros(self.num_bins, dtype),
            first=jnp.zeros((), dtype),
        )

    def update(
        self,
        state: CausalState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> CausalState:
        """Measure the bins that are seen, and update the wrapped policy."""
        ids = check_ids(ids, state.bins.size)
        residual = check_residual(residual, ids, state.bins.shape)
        return _measured(self, state, residual, ids)

    def factor(self, state: CausalState) -> Float[Array, " points"]:
        """One in the first bin, never rising from bin to bin."""
        most = jnp.finfo(state.rms.dtype).max ** 0.25  # its square can be summed
        unit = jnp.where(state.first > 0, state.first, 1)
        square = jnp.square(jnp.minimum(state.rms / unit, most)) / self.num_bins
        earlier = jnp.pad(jnp.cumsum(square)[:-1], (1, 0))
        return jnp.exp(-self.tolerance * earlier)[state.bins]

    def objective_norm(self) -> str:
        """What the wrapped policy descends, early times first."""
        return f"{self.policy.objective_norm()}, early times first"


@eqx.filter_jit
def _measured(policy, state, residual, ids):
    size = size_of(jax.lax.stop_gradient(residual), 1, state.rms.dtype)
    is_counted, bins = jnp.isfinite(size), state.bins
    if ids is not None:
        is_counted, bins = count_once(ids, is_counted, bins.size), bins[ids]
    size = jnp.where(is_counted, size, 0)
    largest = jnp.max(size)
    unit = jnp.where(largest > 0, largest, 1)
    zeros = jnp.zeros_like(state.rms)
    count = zeros.at[bins].add(is_counted.astype(size.dtype))
    total = zeros.at[bins].add(jnp.square(size / unit))
    is_seen = count > 0
    rms = unit * jnp.sqrt(total / jnp.maximum(count, 1))
    first = root_mean_square(rms, is_seen)
    return CausalState(
        inner=policy.policy.update(state.inner, residual, ids),
        bins=state.bins,
        rms=jnp.where(is_seen, rms, state.rms),
        first=jnp.where(state.first > 0, state.first, first),
    )
