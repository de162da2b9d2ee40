"""The interface of initial parameters."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key


class AbstractInitial(eqx.Module):
    """Random weights and biases."""

    @abc.abstractmethod
    def layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        """Those of one layer."""
