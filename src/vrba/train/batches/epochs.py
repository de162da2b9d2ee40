"""Every function once before any comes again."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy
from ...core import InputError
from ._base import AbstractBatches


class Epochs(AbstractBatches):
    """Batch after batch of a list of all samples, which is shuffled for each epoch. Not
    `shuffles`: always in the same order, as some published baselines were."""

    shuffles: bool = True

    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        """An epoch is what lies between two draws, and leaves no sample out for
        ever."""
        if resample_every is not None:
            raise InputError(
                f"`resample_every` is {resample_every}, but with `Epochs` it is an epoch: "
                "leave it out."
            )
        if num_rows % batch_size and not self.shuffles:
            raise InputError(
                f"`batch_size` must divide the {num_rows} samples if they are not "
                f"shuffled, got {batch_size}: the last of them would never be seen."
            )

    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " rows"],
        num_steps: int,
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, "{num_steps} {batch_size}"]:
        """The beginning of the list, which is an epoch."""
        order = jnp.arange(mass.size, dtype=jnp.int32)
        order = jax.random.permutation(key, order) if self.shuffles else order
        return order[: num_steps * batch_size].reshape(num_steps, batch_size)
