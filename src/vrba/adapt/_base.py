"""The interface of a policy: residuals in, weights or point ids out."""

import abc
import operator
from typing import Any, SupportsIndex

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..core import InputError, Status
from ._residual import ArrayOfIds, ArrayOfNumbers
from .draws import AbstractDraw
from .losses import AbstractLoss


class AbstractPolicy(eqx.Module):
    """Settings of an adaptive method; its state is apart, keyed by point id.

    Points drawn with `draw` and weighted with `weights` make the loss
    `mean((weights * residual)**2)` whichever policy is used: unless it has a
    `correction`, a policy that samples gives weights of one, and one that weighs draws
    from the base.
    """

    draws: eqx.AbstractVar[AbstractDraw]
    objective: eqx.AbstractVar[AbstractLoss]

    @abc.abstractmethod
    def init(
        self,
        num_points: int | tuple[int, ...],
        *,
        base: Float[Array | np.ndarray, "..."] | None = None,
        points: Float[Array | np.ndarray, "points dim"] | None = None,
        dtype: Any = None,
    ) -> Any:
        """The state before any residual is known.

        `base` is the probability of each point before the tilt, uniform if not given.
        `points` are the coordinates, for policies that look where a point is.
        """

    @abc.abstractmethod
    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        """The state after seeing the residuals of `ids`, of all points if not given.

        A residual that is not finite leaves its point as it was; `state.status` tells.
        """

    @abc.abstractmethod
    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        """What multiplies the residuals of `ids`, without a gradient."""

    @abc.abstractmethod
    def mass(self, state: Any) -> Float[Array, " points"]:
        """What `draw` draws in proportion to, not normalised."""

    @abc.abstractmethod
    def base(self, state: Any) -> Float[Array, " points"]:
        """The distribution before the tilt; sums to one."""

    @abc.abstractmethod
    def tilt(self, state: Any) -> Float[Array, " points"]:
        """The distribution that the residuals induce; sums to one.

        The same as `probability` if the policy samples; what its weights stand for if
        it weighs.
        """

    @abc.abstractmethod
    def is_sampling(self) -> bool:
        """Whether points are drawn by the tilt; if not, they are weighed by it."""

    @abc.abstractmethod
    def is_unbiased(self) -> bool:
        """Whether the loss of drawn points is, on average, that of the base: the
        policy changes where points are, and not what is minimised."""

    @abc.abstractmethod
    def objective_norm(self) -> str:
        """Which norm of the residual these settings descend.

        That of the tilt alone: memory averages it over time, a mix below one adds a
        share of what no adaptivity would descend.
        """

    def probability(self, state: Any) -> Float[Array, " points"]:
        """What `draw` draws from; sums to one."""
        mass = self.mass(state)
        return mass / jnp.sum(mass)

    def draw(
        self, state: Any, num_points: SupportsIndex, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Ids drawn from `probability`."""
        count = operator.index(num_points)
        if count < 1:
            raise InputError(f"`num_points` must be positive, got {count}.")
        return _draw(self, state, count, key)

    def loss(
        self,
        state: Any,
        residual: Num[Array, "..."],
        ids: ArrayOfIds | None = None,
    ) -> Float[Array, ""]:
        """The loss of the residuals of drawn `ids`, with the weights held fixed."""
        weight = self.weights(state, ids)
        if residual.shape[: weight.ndim] != weight.shape:
            raise InputError(
                f"`residual` has shape {residual.shape}, but its weights have shape "
                f"{weight.shape}."
            )
        return self.objective.mean(weight, residual)

    def effective_size(self, state: Any) -> Float[Array, ""]:
        """`N / E_p[(q / p)**2]`: how many of the N points the tilt `q` is worth."""
        base, tilt = self.base(state), self.tilt(state)
        ratio = tilt / jnp.where(base > 0, base, 1)
        return base.size / jnp.sum(tilt * ratio)


@eqx.filter_jit
def _draw(policy, state, num_points, key):
    return policy.draws.ids(policy.mass(state), num_points, key=key)


def judge(num_rejected: Int[Array, ""]) -> Status:
    """The status of an update that rejected so many residuals."""
    return Status.where(num_rejected > 0, Status.nonfinite_residual, Status.ok)
