"""Policies that train early times first: causal factors, and time windows."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num
from typing_extensions import override

from ..core import (
    InputError,
    check_between,
    check_count,
    check_positive,
    float_dtype,
)
from ._base import AbstractPolicy
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_points,
    check_residual,
    no_equation_axis,
    rows,
)
from ._wrapper import (
    AbstractWrapper,
    BatchSizes,
    batch_sizes,
    num_rejected_by_inner,
    status_of_inner,
)


class AbstractTimed(AbstractWrapper):
    """A policy for pools of points, multiplied by a factor of each point's time.

    A sampling policy multiplies the probability by the factor, a weighting policy the
    squared residual. A point of factor zero is never drawn. The time is the column
    `axis` of the points given to `init`; it is divided into equal bins.
    """

    axis: eqx.AbstractVar[int]

    @abc.abstractmethod
    def factor(self, state: Any) -> Float[Array, " points"]:
        """The factor of each point, between zero and one."""

    @abc.abstractmethod
    def num_parts(self) -> int:
        """The number of bins of the time."""

    @abc.abstractmethod
    def first_state(
        self, inner: Any, bins: Int[Array, " points"], dtype: jnp.dtype
    ) -> Any:
        """The state before the first residual; `bins` holds the bin of each point."""

    @abc.abstractmethod
    def measure(
        self,
        state: Any,
        residual: Num[Array, "batch *eqs"],
        sizes: BatchSizes,
        bins: Int[Array, " batch"],
    ) -> tuple[Any, Num[Array, "batch *seen_eqs"]]:
        """The state after these residuals, and the residuals for the wrapped policy."""

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> Any:
        dtype, name = float_dtype(dtype), type(self).__name__
        bins = time_bins(name, num_points, points, self.axis, self.num_parts())
        inner = self.policy.init(num_points, base=base, points=points, dtype=dtype)
        return self.first_state(inner, bins, dtype)

    @override
    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        ids = check_ids(ids, state.bins.size)
        residual = check_residual(residual, ids, state.bins.shape, no_equation_axis())
        return _update_timed(self, state, residual, ids)

    @override
    def inner_state(self, state: Any) -> Any:
        return state.inner

    @override
    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        weight = self.policy.weights(state.inner, ids)
        if self.is_sampling():
            return weight
        factor = rows(self.factor(state), ids) ** (1 / self.objective.loss_power)
        return weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))

    @override
    def mass(self, state: Any) -> Float[Array, " points"]:
        mass, factor = self.policy.mass(state.inner), self.factor(state)
        return mass * factor if self.is_sampling() else jnp.where(factor > 0, mass, 0)

    @override
    def tilt(self, state: Any) -> Float[Array, " points"]:
        mass = self.policy.tilt(state.inner) * self.factor(state)
        return mass / jnp.sum(mass)

    @override
    def is_unbiased(self) -> bool:
        """False: late times count less."""
        return False


class CausalState(NamedTuple):
    """The wrapped policy's state, the bin of each point, and the residual of bins."""

    inner: Any
    bins: Int[Array, " points"]
    rms: Float[Array, " bins"]  # last measured; zero before
    first: Float[Array, ""]  # over all bins, when first measured; zero before

    status = status_of_inner
    num_rejected = num_rejected_by_inner


class Causal(AbstractTimed):
    """Wrap a policy; multiply by `exp(-tolerance * earlier residual)` in each time bin.

    The earlier residual of bin `b` of `n` is `sum_{k < b} m_k / (n m)`, with `m_k` the
    mean square of the residual in bin `k` and `m` its mean over bins at the first
    update. So it has no unit, hardly depends on `num_bins`, and starts near one for the
    last bin. Once mean squares are far below `m / tolerance`, all factors are one and
    the wrapped policy acts alone. (after Wang, Sankaran and Perdikaris 2022, who omit
    `n m`)
    """

    policy: AbstractPolicy
    tolerance: float = eqx.field(default=100.0, converter=float, static=True)
    num_bins: int = eqx.field(default=32, static=True)
    axis: int = eqx.field(default=0, kw_only=True, static=True)

    def __check_init__(self):
        check_positive(tolerance=self.tolerance)
        check_count(num_bins=self.num_bins)

    @override
    def num_parts(self) -> int:
        return self.num_bins

    @override
    def first_state(
        self, inner: Any, bins: Int[Array, " points"], dtype: jnp.dtype
    ) -> CausalState:
        zero = jnp.zeros((), dtype)
        return CausalState(inner, bins, rms=jnp.zeros(self.num_bins, dtype), first=zero)

    @override
    def measure(
        self,
        state: CausalState,
        residual: Num[Array, "batch *eqs"],
        sizes: BatchSizes,
        bins: Int[Array, " batch"],
    ) -> tuple[CausalState, Num[Array, "batch *seen_eqs"]]:
        size = jnp.where(sizes.is_counted, sizes.size, 0)
        largest = jnp.max(size)
        unit = jnp.where(largest > 0, largest, 1)
        zeros = jnp.zeros_like(state.rms)
        count = zeros.at[bins].add(sizes.is_counted.astype(size.dtype))
        total = zeros.at[bins].add(jnp.square(size / unit))
        is_measured = count > 0
        rms = unit * jnp.sqrt(total / jnp.maximum(count, 1))
        first = root_mean_square(rms, is_measured)
        state = state._replace(
            rms=jnp.where(is_measured, rms, state.rms),
            first=jnp.where(state.first > 0, state.first, first),
        )
        return state, residual

    @override
    def factor(self, state: CausalState) -> Float[Array, " points"]:
        """One in the first bin, not increasing from bin to bin."""
        most = jnp.finfo(state.rms.dtype).max ** 0.25  # its square can be summed
        unit = jnp.where(state.first > 0, state.first, 1)
        square = jnp.square(jnp.minimum(state.rms / unit, most)) / self.num_bins
        earlier = jnp.pad(jnp.cumsum(square)[:-1], (1, 0))
        return jnp.exp(-self.tolerance * earlier)[state.bins]

    @override
    def objective_norm(self) -> str:
        return f"{self.policy.objective_norm()}, early times first"


class WindowState(NamedTuple):
    """The wrapped policy's state, the window of each point, and the open windows."""

    inner: Any
    bins: Int[Array, " points"]
    num_open: Int[Array, ""]
    num_rounds: Int[Array, ""]  # updates since the last window opened
    first: Float[Array, ""]  # rms residual of all points at the first update, or zero

    status = status_of_inner
    num_rejected = num_rejected_by_inner


class TimeWindowWeights(AbstractTimed):
    """Wrap a policy; train on time windows that open one after the other.

    The time is divided into `num_windows` equal windows; at first only the first one is
    open. The next one opens when the root mean square residual of the open points is
    below `tolerance` times that of all points at the first update, and at the latest
    after `max_updates` updates. Once all are open, the wrapped policy acts alone. It
    sees zero residuals in closed windows.
    """

    policy: AbstractPolicy
    num_windows: int = eqx.field(default=5, static=True)
    tolerance: float = eqx.field(default=0.01, converter=float, static=True)
    max_updates: int = eqx.field(default=3, static=True)
    axis: int = eqx.field(default=0, kw_only=True, static=True)

    def __check_init__(self):
        check_between(tolerance=(self.tolerance, 0.0, 1.0))
        check_count(num_windows=self.num_windows, max_updates=self.max_updates)

    @override
    def num_parts(self) -> int:
        return self.num_windows

    @override
    def first_state(
        self, inner: Any, bins: Int[Array, " points"], dtype: jnp.dtype
    ) -> WindowState:
        return WindowState(
            inner,
            bins,
            num_open=jnp.ones((), jnp.int32),
            num_rounds=jnp.zeros((), jnp.int32),
            first=jnp.zeros((), dtype),
        )

    @override
    def measure(
        self,
        state: WindowState,
        residual: Num[Array, "batch *eqs"],
        sizes: BatchSizes,
        bins: Int[Array, " batch"],
    ) -> tuple[WindowState, Num[Array, "batch *seen_eqs"]]:
        size, is_finite, is_counted = sizes
        is_open = is_counted & (bins < state.num_open)
        first = root_mean_square(size, is_counted)
        first = jnp.where(state.first > 0, state.first, first)
        is_solved = root_mean_square(size, is_open) <= self.tolerance * first
        is_due = state.num_rounds >= self.max_updates
        opens = ((is_solved & jnp.any(is_open)) | is_due) & jnp.any(is_finite)
        num_open = state.num_open + opens.astype(jnp.int32)
        num_open = jnp.minimum(num_open, self.num_windows)
        is_closed = is_finite & (bins >= num_open)
        size = jnp.where(is_closed, 0, size)
        state = state._replace(
            num_open=num_open,
            num_rounds=jnp.where(opens, 1, state.num_rounds + 1).astype(jnp.int32),
            first=first,
        )
        return state, sizes._replace(size=size).like(residual)

    @override
    def factor(self, state: WindowState) -> Float[Array, " points"]:
        """One in open windows, zero in closed ones."""
        return (state.bins < state.num_open).astype(state.first.dtype)

    @override
    def objective_norm(self) -> str:
        return f"{self.policy.objective_norm()}, window by window in time"


@eqx.filter_jit
def _update_timed(policy, state, residual, ids):
    bins = state.bins if ids is None else state.bins[ids]
    sizes = batch_sizes(residual, ids, state.bins.size, state.first.dtype)
    state, residual = policy.measure(state, residual, sizes, bins)
    return state._replace(inner=policy.policy.update(state.inner, residual, ids))


def time_bins(
    name: str,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
    axis: int,
    num_bins: int,
) -> Int[Array, " points"]:
    """The bin of each point, for equal bins of the whole time."""
    points = check_points(name, "time", num_points, points)
    if not 0 <= axis < points.shape[1]:
        raise InputError(
            f"`{name}(axis=...)` must be a column of the points, of which there are "
            f"{points.shape[1]}, got {axis}."
        )
    time = jnp.asarray(points)[:, axis]
    first, length = jnp.min(time), jnp.max(time) - jnp.min(time)
    share = (time - first) / jnp.where(length > 0, length, 1)
    return jnp.minimum((num_bins * share).astype(jnp.int32), num_bins - 1)


def root_mean_square(
    size: Float[Array, " any"], is_counted: Bool[Array, " any"]
) -> Float[Array, ""]:
    """The root mean square of counted sizes, without overflow; zero for none."""
    largest = jnp.max(jnp.where(is_counted, size, 0))
    unit = jnp.where(largest > 0, largest, 1)
    squares = jnp.where(is_counted, jnp.square(size / unit), 0)
    count = jnp.sum(is_counted).astype(size.dtype)
    return unit * jnp.sqrt(jnp.sum(squares) / jnp.maximum(count, 1))
