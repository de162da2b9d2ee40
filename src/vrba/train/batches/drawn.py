"""Hard functions more often."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy
from ._base import AbstractBatches


class Drawn(AbstractBatches):
    """By the policy; none twice in a batch, if its draws are without replacement, as
    those of `Hybrid` are."""

    def check(self, num_funcs: int, batch_size: int, redraw_every: int | None) -> None:
        """All do."""

    def order(self, num_funcs: int, *, key: Key[Array, ""]) -> Int[Array, " funcs"]:
        """There is none; that of the file."""
        return jnp.arange(num_funcs, dtype=jnp.int32)

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
        """In proportion to their mass."""
        return policy.draws.ids(mass, batch_size, key=key)
