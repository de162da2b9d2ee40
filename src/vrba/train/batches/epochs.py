"""Every function once before any comes again."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy
from ._base import AbstractBatches


class Epochs(AbstractBatches):
    """Batch after batch of a list of all functions, which is shuffled for each epoch.
    Not `shuffles`: always in the same order, as some published baselines were."""

    shuffles: bool = True

    def check(self, num_funcs: int, batch_size: int, redraw_every: int | None) -> None:
        """An epoch is what lies between two draws, and leaves no function out for
        ever."""
        if redraw_every is not None:
            raise ValueError(
                f"`redraw_every` is {redraw_every}, but with `Epochs` it is an epoch: "
                "leave it out."
            )
        if num_funcs % batch_size and not self.shuffles:
            raise ValueError(
                f"`batch_size` must divide the {num_funcs} samples if they are not "
                f"shuffled, got {batch_size}: the last of them would never be seen."
            )

    def order(self, num_funcs: int, *, key: Key[Array, ""]) -> Int[Array, " funcs"]:
        """A permutation, or the order of the file."""
        plain = jnp.arange(num_funcs, dtype=jnp.int32)
        return jax.random.permutation(key, plain) if self.shuffles else plain

    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " funcs"],
        order: Int[Array, " funcs"],
        step: Int[Array, ""],
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, " {batch_size}"]:
        """The next of the list."""
        start = step * batch_size
        return jax.lax.dynamic_slice(order, (start,), (batch_size,))
