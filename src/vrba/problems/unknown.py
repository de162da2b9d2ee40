"""Coefficients that are found together with the solution."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import InputError

Values = dict[str, Float[Array, ""]]


class Unknown(eqx.Module):
    """A number to be found, which starts at `start`.

    With `is_positive` it cannot change its sign: it is `start exp(z)` with a trained
    `z` that begins at zero; else `start + scale z`, with `scale` its likely distance
    from the start, one if not given.
    """

    start: float | int
    is_positive: bool = False
    scale: float | int | None = None

    def __check_init__(self):
        """Settings in range."""
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
                f"`scale` is of no use for a positive unknown, got {self.scale}: leave "
                "it out."
            )
        if not 0 < self.scale < math.inf:
            raise InputError(f"`scale` must be positive, got {self.scale}.")

    def value(self, trained: Float[Array, ""]) -> Float[Array, ""]:
        """The coefficient, from what is trained."""
        if self.is_positive:
            return self.start * jnp.exp(trained)
        return self.start + (1.0 if self.scale is None else self.scale) * trained


class Extended(eqx.Module):
    """A network, and beside it what is trained of the unknown coefficients."""

    network: Any
    trained: Values

    @staticmethod
    def of(network: Any, unknowns: Mapping[str, Unknown], dtype: Any) -> Any:
        """The network with unknowns at their start; itself if there are none."""
        if not unknowns:
            return network
        return Extended(network, {name: jnp.zeros((), dtype) for name in unknowns})


def opened(network: Any, unknowns: Mapping[str, Unknown]) -> tuple[Any, Values]:
    """The network alone, and the values of the unknowns."""
    if not isinstance(network, Extended):
        return network, {}
    found = {n: one.value(network.trained[n]) for n, one in unknowns.items()}
    return network.network, found
