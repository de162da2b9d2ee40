"""A policy whose points also count by their time."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..core import InputError
from ._around import AbstractWrapper
from ._pool import rows
from ._residual import ArrayOfIds, check_points


class AbstractTimed(AbstractWrapper):
    """Any policy for pools of points, times a factor of each point's time.

    Where points are drawn by the tilt, the factor multiplies their probability; where
    they are weighed, their squared residual. A point of factor zero is never drawn.
    Times are the column `axis` of the points given to `init`.
    """

    axis: eqx.AbstractVar[int]

    @abc.abstractmethod
    def factor(self, state: Any) -> Float[Array, " points"]:
        """The factor of each point, between zero and one."""

    def inner_state(self, state: Any) -> Any:
        """Beside the times."""
        return state.inner

    def weights(
        self, state: Any, ids: ArrayOfIds | None = None
    ) -> Float[Array, " batch"]:
        """Those of the wrapped policy, times the factor unless it samples."""
        weight = self.policy.weights(state.inner, ids)
        if self.is_sampling():
            return weight
        power = 1 / self.objective.loss_power
        return weight * rows(self.factor(state), ids) ** power

    def mass(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy, times the factor if it samples."""
        mass, factor = self.policy.mass(state.inner), self.factor(state)
        return mass * factor if self.is_sampling() else jnp.where(factor > 0, mass, 0)

    def is_unbiased(self) -> bool:
        """No: times that are held back count less."""
        return False

    def base(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy."""
        return self.policy.base(state.inner)

    def tilt(self, state: Any) -> Float[Array, " points"]:
        """That of the wrapped policy, times the factor."""
        mass = self.policy.tilt(state.inner) * self.factor(state)
        return mass / jnp.sum(mass)


def bins_of(
    name: str,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
    axis: int,
    num_bins: int,
) -> Int[Array, " points"]:
    """Which of the equal parts of the whole time each point lies in."""
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
    """Over what is counted; zero if nothing is. No square overflows."""
    largest = jnp.max(jnp.where(is_counted, size, 0))
    unit = jnp.where(largest > 0, largest, 1)
    squares = jnp.where(is_counted, jnp.square(size / unit), 0)
    count = jnp.sum(is_counted).astype(size.dtype)
    return unit * jnp.sqrt(jnp.sum(squares) / jnp.maximum(count, 1))
