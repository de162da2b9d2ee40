"""Residuals averaged over neighbours before they are tilted."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy
from jax.core import Tracer
from jaxtyping import Array, Float, Int
from typing_extensions import override

from ..core import InputError, check_count, float_dtype
from ._base import AbstractPolicy
from ._inputs import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_points,
    check_residual,
    no_equation_axis,
    pool_size,
    replace_rows,
)
from ._pool_policy import AbstractPoolPolicy
from ._tilt import AbstractTilting
from ._wrapper import (
    AbstractWrapper,
    batch_sizes,
    num_rejected_by_inner,
    status_of_inner,
)


class NeighbourState(NamedTuple):
    """The wrapped policy's state, and the neighbours and last size of each point."""

    inner: Any
    near: Int[Array, "points neighbours"]
    size: Float[Array, " points"]  # negative before the first update of the point

    status = status_of_inner
    num_rejected = num_rejected_by_inner


class LocalAverage(AbstractWrapper):
    """Wrap a policy; it sees the mean residual size over each point's neighbours.

    This spreads out isolated spikes and keeps fronts. `neighbours` is the number of
    `points` to average: the point itself and the nearest ones, with each coordinate
    scaled by its range. `neighbour_ids` lists the neighbours instead, one row for each
    point, usually with the point itself. In mini-batches a neighbour counts with its
    last size, if it has one.
    """

    policy: AbstractPolicy
    neighbours: int = eqx.field(default=8, static=True)
    neighbour_ids: Int[Array, "points neighbours"] | None = eqx.field(
        default=None,
        converter=lambda ids: None if ids is None else jnp.asarray(ids),
        kw_only=True,
    )

    def __check_init__(self):
        if isinstance(self.policy, AbstractTilting) and not isinstance(
            self.policy, AbstractPoolPolicy
        ):
            raise InputError("`LocalAverage` is for pools of points, not for `Hybrid`.")
        check_count(neighbours=self.neighbours)
        ids = self.neighbour_ids
        if ids is None or not eqx.is_array(ids) or isinstance(ids, Tracer):
            return
        if ids.ndim != 2 or ids.size == 0:
            raise InputError(
                "`neighbour_ids` must have a row of ids for each point, got shape "
                f"{ids.shape}."
            )
        if jnp.min(ids) < 0 or jnp.max(ids) >= len(ids):
            raise InputError(
                f"`neighbour_ids` must lie between 0 and {len(ids) - 1}, got "
                f"{jnp.min(ids)} to {jnp.max(ids)}."
            )

    @override
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> NeighbourState:
        near = self.neighbour_ids
        if near is None:
            near = _nearest(self.neighbours, num_points, points)
        if pool_size("LocalAverage", num_points)[0] != len(near):
            raise InputError(
                f"`num_points` must be the {len(near)} rows of `neighbour_ids`, got "
                f"{num_points}."
            )
        dtype = float_dtype(dtype)
        return NeighbourState(
            inner=self.policy.init(num_points, base=base, points=points, dtype=dtype),
            near=near,
            size=jnp.full(len(near), -1.0, dtype),
        )

    @override
    def update(
        self,
        state: NeighbourState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> NeighbourState:
        num_points = state.size.shape[0]
        ids = check_ids(ids, num_points)
        residual = check_residual(residual, ids, state.size.shape, no_equation_axis())
        sizes = batch_sizes(residual, ids, num_points, state.size.dtype)
        size = replace_rows(state.size, ids, sizes.size, sizes.is_finite)
        near = state.near if ids is None else state.near[ids]
        is_known = (size[near] >= 0).astype(size.dtype)
        total = jnp.sum(is_known * size[near], axis=1)
        average = total / jnp.maximum(jnp.sum(is_known, axis=1), 1)
        average = jnp.where(sizes.is_finite, average, sizes.size)
        seen = sizes._replace(size=average).like(residual)
        inner = self.policy.update(state.inner, seen, ids)
        return NeighbourState(inner, state.near, size)

    @override
    def inner_state(self, state: NeighbourState) -> Any:
        return state.inner

    @override
    def weights(
        self, state: NeighbourState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "..."]:
        return self.policy.weights(state.inner, ids)

    @override
    def mass(self, state: NeighbourState) -> Float[Array, " points"]:
        return self.policy.mass(state.inner)

    @override
    def tilt(self, state: NeighbourState) -> Float[Array, " points"]:
        return self.policy.tilt(state.inner)

    @override
    def is_unbiased(self) -> bool:
        return self.policy.is_unbiased()

    @override
    def objective_norm(self) -> str:
        return (
            f"{self.policy.objective_norm()}, of the residual averaged over neighbours"
        )


def _nearest(
    count: int,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
) -> Int[Array, "points neighbours"]:
    """The ids of the nearest points, the point itself first."""
    places = np.asarray(check_points("LocalAverage", "place", num_points, points))
    if count > len(places):
        raise InputError(
            f"`neighbours` must lie between 1 and the {len(places)} points, got "
            f"{count}."
        )
    ranges = np.ptp(places, axis=0)
    scaled = places / np.where(ranges > 0, ranges, 1)
    _, nearest = scipy.spatial.KDTree(scaled).query(scaled, k=count, workers=-1)
    return jnp.asarray(np.reshape(nearest, (len(places), count)), jnp.int32)
