"""The interface of batches."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Int, Key

from ...adapt import AbstractPolicy


class AbstractBatches(eqx.Module):
    """How functions are chosen for a step."""

    @abc.abstractmethod
    def check(self, num_funcs: int, batch_size: int, redraw_every: int | None) -> None:
        """Refuses settings that do not go together."""

    @abc.abstractmethod
    def order(self, num_funcs: int, *, key: Key[Array, ""]) -> Int[Array, " funcs"]:
        """The order of an epoch."""

    @abc.abstractmethod
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
        """The functions of a step of an epoch."""
