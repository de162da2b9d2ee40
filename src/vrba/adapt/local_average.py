"""Residuals averaged over neighbours before they are tilted."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float, Int

from ..core import InputError, check_count, float_dtype
from ._around import AbstractWrapper, AbstractWrapperState
from ._base import AbstractPolicy
from ._pool import AbstractPoolPolicy
from ._residual import (
    ArrayOfIds,
    ArrayOfNumbers,
    check_ids,
    check_points,
    check_residual,
    put,
    size_of,
)
from ._tilt import AbstractTilting


class NeighbourState(AbstractWrapperState):
    """The wrapped policy's state, who is near, and the last size of each point."""

    inner: Any
    near: Int[Array, "points neighbours"]
    size: Float[Array, " points"]  # negative where not known yet


class LocalAverage(AbstractWrapper):
    """Any policy, fed with the mean size over each point's neighbours.

    A single spike is spread out, a front is kept. `neighbours` is how many of the
    `points` given to `init` are averaged, the point itself and the nearest, measured
    in shares of what each coordinate spans; or their ids, a row for each point, usually
    with its own among them. In mini-batches a neighbour counts with its last size, if
    it has one.
    """

    policy: AbstractPolicy
    neighbours: int | Int[Array, "points neighbours"] = 8

    def __init__(
        self,
        policy: AbstractPolicy,
        neighbours: int | Int[Array | np.ndarray, "points neighbours"] = 8,
    ):
        is_joint = isinstance(policy, AbstractTilting)
        if is_joint and not isinstance(policy, AbstractPoolPolicy):
            raise InputError("`LocalAverage` is for pools of points, not for `Hybrid`.")
        self.policy = policy
        if isinstance(neighbours, int | np.integer):
            check_count(neighbours=neighbours)
            self.neighbours = int(neighbours)
            return
        if np.ndim(neighbours) != 2 or np.size(neighbours) == 0:
            raise InputError(
                "`neighbours` must list the neighbours of each point, got shape "
                f"{np.shape(neighbours)}."
            )
        num_points = np.shape(neighbours)[0]
        if np.min(neighbours) < 0 or np.max(neighbours) >= num_points:
            raise InputError(
                f"`neighbours` must hold ids between 0 and {num_points - 1}, got "
                f"{np.min(neighbours)} to {np.max(neighbours)}."
            )
        self.neighbours = jnp.asarray(neighbours)

    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> NeighbourState:
        """The wrapped policy's state, and sizes not known yet."""
        near = self.neighbours
        if isinstance(near, int):
            near = _nearest(near, num_points, points)
        if num_points not in (len(near), (len(near),)):
            raise InputError(
                f"`num_points` must be the {len(near)} rows of `neighbours`, got "
                f"{num_points}."
            )
        dtype = float_dtype(dtype)
        return NeighbourState(
            inner=self.policy.init(num_points, base=base, points=points, dtype=dtype),
            near=near,
            size=jnp.full(len(near), -1.0, dtype),
        )

    def update(
        self,
        state: NeighbourState,
        residual: ArrayOfNumbers,
        ids: ArrayOfIds | None = None,
    ) -> NeighbourState:
        """Remember the sizes of `ids`, average, and update the wrapped policy."""
        ids = check_ids(ids, state.size.shape[0])
        residual = check_residual(residual, ids, state.size.shape)
        new = size_of(jax.lax.stop_gradient(residual), 1, state.size.dtype)
        is_finite = jnp.isfinite(new)
        if ids is None:
            size = jnp.where(is_finite, new, state.size)
        else:
            size = put(state.size, ids, new, is_finite)
        near = state.near if ids is None else state.near[ids]
        is_known = (size[near] >= 0).astype(size.dtype)
        total = jnp.sum(is_known * size[near], axis=1)
        average = total / jnp.maximum(jnp.sum(is_known, axis=1), 1)
        average = jnp.where(is_finite, average, new)
        inner = self.policy.update(state.inner, average, ids)
        return NeighbourState(inner, state.near, size)

    def inner_state(self, state: NeighbourState) -> Any:
        """Beside the neighbours."""
        return state.inner

    def weights(
        self, state: NeighbourState, ids: ArrayOfIds | None = None
    ) -> Float[Array, "..."]:
        """Those of the wrapped policy."""
        return self.policy.weights(state.inner, ids)

    def mass(self, state: NeighbourState) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.mass(state.inner)

    def base(self, state: NeighbourState) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.base(state.inner)

    def tilt(self, state: NeighbourState) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.tilt(state.inner)

    def is_unbiased(self) -> bool:
        """As the wrapped policy."""
        return self.policy.is_unbiased()

    def objective_norm(self) -> str:
        """Which norm of the averaged residual these settings descend."""
        return (
            f"{self.policy.objective_norm()}, of the residual averaged over neighbours"
        )


def _nearest(
    count: int,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
) -> Int[Array, "points neighbours"]:
    """The ids of the nearest points, its own first."""
    places = np.asarray(check_points("LocalAverage", "place", num_points, points))
    if count > len(places):
        raise InputError(
            f"`neighbours` must lie between 1 and the {len(places)} points, got "
            f"{count}."
        )
    spans = np.ptp(places, axis=0)
    scaled = places / np.where(spans > 0, spans, 1)  # near in any units
    _, nearest = scipy.spatial.KDTree(scaled).query(scaled, k=count, workers=-1)
    return jnp.asarray(np.reshape(nearest, (len(places), count)), jnp.int32)
