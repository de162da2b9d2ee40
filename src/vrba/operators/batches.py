"""Batches: the samples of each step."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key
from typing_extensions import override

from ..adapt import AbstractPolicy
from ..core import InputError

_DRAWS_AT_ONCE = 32  # draws whose random numbers are in memory together


class AbstractBatches(eqx.Module):
    """How samples are chosen for the steps until the next resampling."""

    @abc.abstractmethod
    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        """Raise if the settings do not fit together."""

    @abc.abstractmethod
    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " rows"],
        num_steps: int,
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, "{num_steps} {batch_size}"]:
        """The samples of each step."""

    @property
    @abc.abstractmethod
    def follows_policy(self) -> bool:
        """Whether the policy's distribution decides which samples are drawn."""


class Drawn(AbstractBatches):
    """Samples drawn by the policy, in proportion to their mass.

    A batch holds no sample twice if the policy draws without replacement, as `Hybrid`
    does.
    """

    @override
    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        pass

    @override
    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " rows"],
        num_steps: int,
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, "{num_steps} {batch_size}"]:
        draw = lambda key: policy.draws.ids(mass, batch_size, key=key)
        keys = jax.random.split(key, num_steps)
        return jax.lax.map(draw, keys, batch_size=min(_DRAWS_AT_ONCE, num_steps))

    @property
    @override
    def follows_policy(self) -> bool:
        return True


class Epochs(AbstractBatches):
    """Every sample once in an epoch, in a new random order for each epoch.

    `shuffles=False` keeps the order of the file, as some published baselines do.
    """

    shuffles: bool = True

    @override
    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        if resample_every is not None:
            raise InputError(
                f"`resample_every` is {resample_every}, but with `Epochs` it is always "
                "an epoch: leave it out."
            )
        if num_rows % batch_size and not self.shuffles:
            raise InputError(
                f"`batch_size` must divide the {num_rows} samples if they are not "
                f"shuffled, got {batch_size}: the last ones would never be used."
            )

    @override
    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " rows"],
        num_steps: int,
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, "{num_steps} {batch_size}"]:
        order = jnp.arange(mass.size, dtype=jnp.int32)
        order = jax.random.permutation(key, order) if self.shuffles else order
        return order[: num_steps * batch_size].reshape(num_steps, batch_size)

    @property
    @override
    def follows_policy(self) -> bool:
        return False
