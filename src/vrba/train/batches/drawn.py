"""Hard functions more often."""

import jax
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy
from ._base import AbstractBatches

_AT_ONCE = 32  # draws whose random numbers are in memory together


class Drawn(AbstractBatches):
    """By the policy; none twice in a batch, if its draws are without replacement, as
    those of `Hybrid` are."""

    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        """All do."""

    def ids(
        self,
        policy: AbstractPolicy,
        mass: Float[Array, " rows"],
        num_steps: int,
        batch_size: int,
        *,
        key: Key[Array, ""],
    ) -> Int[Array, "{num_steps} {batch_size}"]:
        """In proportion to their mass."""
        draw = lambda key: policy.draws.ids(mass, batch_size, key=key)
        keys = jax.random.split(key, num_steps)
        return jax.lax.map(draw, keys, batch_size=min(_AT_ONCE, num_steps))
