"""The interface of an architecture."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key


class AbstractArchitecture(eqx.Module):
    """Settings of a network, which `build` turns into parameters."""

    @abc.abstractmethod
    def build(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> Callable[[Float[Array, " inputs"]], Float[Array, " outputs"]]:
        """A network with random parameters: a pytree that is called at one point."""
