"""The interface of batches."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy


class AbstractBatches(eqx.Module):
    """How samples are chosen for the steps until the next refreshment."""

    @abc.abstractmethod
    def check(self, num_rows: int, batch_size: int, resample_every: int | None) -> None:
        """Refuses settings that do not go together."""

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
