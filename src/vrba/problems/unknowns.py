"""Unknown coefficients, trained together with the solution."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError

Values = dict[str, Float[Array, ""]]


class Unknown(eqx.Module):
    """A coefficient to find, with the initial value `start`.

    A trained number `z` starts at zero. The coefficient is `start exp(z)` with
    `is_positive`, so it keeps its sign; else it is `start + scale z`. `scale` is its
    expected distance from `start`, one by default.
    """

    start: float | int
    is_positive: bool = False
    scale: float | int | None = None

    def __check_init__(self):
        if not math.isfinite(self.start):
            raise InputError(f"`start` must be finite, got {self.start}.")
        if self.is_positive and not self.start > 0:
            raise InputError(
                f"`start` of a positive unknown must be positive, got {self.start}."
            )
        if self.scale is None:
            return
        if self.is_positive:
            raise InputError(
                f"`scale` has no effect on a positive unknown: remove "
                f"`scale={self.scale}`."
            )
        if not 0 < self.scale < math.inf:
            raise InputError(f"`scale` must be positive, got {self.scale}.")

    def value(self, trained: Float[Array, ""]) -> Float[Array, ""]:
        """Return the coefficient for a trained number."""
        if self.is_positive:
            return self.start * jnp.exp(trained)
        return self.start + (1.0 if self.scale is None else self.scale) * trained


class NetworkWithUnknowns(eqx.Module):
    """A network and the trained numbers of the unknown coefficients.

    The trained numbers come first among the parameters.
    """

    trained: Values
    network: Any


def attach_unknowns(network: Any, unknowns: Mapping[str, Unknown], dtype: Any) -> Any:
    """Add unknowns at their initial values; without unknowns return the network."""
    if not unknowns:
        return network
    trained = {name: jnp.zeros((), dtype) for name in unknowns}
    return NetworkWithUnknowns(trained, network)


def split_unknowns(network: Any, unknowns: Mapping[str, Unknown]) -> tuple[Any, Values]:
    """Return the network without unknowns, and the values of the unknowns."""
    if not isinstance(network, NetworkWithUnknowns):
        return network, {}
    values = {n: one.value(network.trained[n]) for n, one in unknowns.items()}
    return network.network, values
