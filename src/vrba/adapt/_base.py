"""The interface of a policy: residuals in, weights or point ids out."""

import abc
import operator
from typing import Any, ClassVar, SupportsIndex

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..core import InputError, Status
from ._inputs import ArrayOfIds, ArrayOfNumbers
from .draws import AbstractDraw
from .losses import AbstractLoss


class AbstractPolicy(eqx.Module):
    """Settings of an adaptive method; its state is separate and keyed by point id.

    Points drawn with `draw` and weighted with `weights` form the loss
    `mean((weights * residual)**2)` for every policy; `loss` computes it. Unless it has
    a `correction`, a sampling policy gives weights of one, and a weighting policy draws
    from the base.

    A policy is a pytree: arrays are leaves, everything else is static. It can be an
    argument of `jax.jit`. A state is a pytree of arrays.
    """

    has_point_weights: ClassVar[bool] = False  # a weight for each point of a function
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
        """Make the state before the first residual.

        `base` is the probability of each point before the tilt, by default uniform.
        `points` are the coordinates; some policies need them. For pools of points,
        `num_points=(number, 1)` fixes from the start that residuals have an axis of
        equations; `update` inside `scan` needs this, because it cannot change shapes.
        """

    @abc.abstractmethod
    def update(
        self, state: Any, residual: ArrayOfNumbers, ids: ArrayOfIds | None = None
    ) -> Any:
        """Return the state after the residuals of `ids`, by default of all points.

        A residual may have one more axis than the state, for equations: its norm over
        them counts. A point whose residual is not finite keeps its weight;
        `state.status` and `state.num_rejected` report it.
        """

    @abc.abstractmethod
    def weights(self, state: Any, ids: ArrayOfIds | None = None) -> Float[Array, "..."]:
        """The factors of the residuals of `ids`, without a gradient.

        They broadcast against the residuals of the last update: `[n]` for `[n]`, and
        `[n, 1]` for `[n, 1]` or `[n, eqs]`.
        """

    @abc.abstractmethod
    def mass(self, state: Any) -> Float[Array, " points"]:
        """The distribution that `draw` uses, not normalised."""

    @abc.abstractmethod
    def base(self, state: Any) -> Float[Array, " points"]:
        """The distribution before the tilt; sums to one."""

    @abc.abstractmethod
    def tilt(self, state: Any) -> Float[Array, " points"]:
        """The distribution that the residuals induce; sums to one.

        A sampling policy draws from it. A weighting policy applies it as weights.
        """

    @abc.abstractmethod
    def is_sampling(self) -> bool:
        """Whether points are drawn from the tilt instead of weighted by it."""

    @abc.abstractmethod
    def is_unbiased(self) -> bool:
        """Whether the expected loss of drawn points is that of the base.

        The policy then changes where points are, but not what is minimised.
        """

    @abc.abstractmethod
    def objective_norm(self) -> str:
        """Name the norm of the residual that these settings minimise.

        This is the norm of the tilt alone. Memory averages the tilt over time; a mix
        below one adds a share of the loss without adaptivity.
        """

    def probability(self, state: Any) -> Float[Array, " points"]:
        """The distribution that `draw` uses; sums to one."""
        mass = self.mass(state)
        return mass / jnp.sum(mass)

    def draw(
        self, state: Any, num_points: SupportsIndex, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Draw ids from `probability`."""
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
        """The loss of the residuals of drawn `ids`, with constant weights.

        The residual has the shape `[n]`, `[n, 1]` or `[n, eqs]`.
        """
        weight = self.weights(state, ids)
        if 1 < weight.ndim == residual.ndim and weight.shape[-1] == 1:
            weight = weight.reshape(weight.shape[:-1])  # equations share a weight
        if residual.shape[: weight.ndim] != weight.shape:
            raise InputError(
                f"`residual` has shape {residual.shape}, but its weights have shape "
                f"{weight.shape}. Give one residual for each point or id, in the shape "
                "of the last update."
            )
        return self.objective.mean(weight, residual)

    def effective_size(self, state: Any) -> Float[Array, ""]:
        """The effective sample size `N / E_p[(q / p)**2]` of the tilt `q`."""
        base, tilt = self.base(state), self.tilt(state)
        ratio = tilt / jnp.where(base > 0, base, 1)
        return base.size / jnp.sum(tilt * ratio)


@eqx.filter_jit
def _draw(policy, state, num_points, key):
    return policy.draws.ids(policy.mass(state), num_points, key=key)


def update_status(num_rejected: Int[Array, ""]) -> Status:
    """The status of an update that rejected `num_rejected` residuals."""
    return Status.where(num_rejected > 0, Status.nonfinite_residual, Status.ok)
