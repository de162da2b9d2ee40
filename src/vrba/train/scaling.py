"""What a network sees of data."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import Pairs


class Scaling(eqx.Module):
    """What a network sees of data: mean zero, deviation one over the training set for
    each channel, and over the places for each coordinate. Kept with the network."""

    input_mean: Float[Array, " in_channels"]
    input_std: Float[Array, " in_channels"]
    output_mean: Float[Array, " channels"]
    output_std: Float[Array, " channels"]
    place_mean: Float[Array, " dim"]
    place_std: Float[Array, " dim"]

    @classmethod
    def of(cls, pairs: Pairs, dtype: Any, *, centres: bool = True) -> "Scaling":
        """That of the training set; if not `centres`, means are left where they are."""
        numbers = []
        for array in pairs.load("train"):
            axes = tuple(range(array.ndim - 1))
            mean = np.mean(array, axis=axes, dtype=float)
            std = np.std(array, axis=axes, dtype=float)
            numbers += [mean if centres else 0 * mean, np.where(std > 0, std, 1)]
        places = pairs.places.reshape(-1, len(pairs.names))
        std = places.std(axis=0)
        numbers += [places.mean(axis=0), np.where(std > 0, std, 1)]
        return cls(*(jnp.asarray(number, dtype) for number in numbers))

    def inputs(self, raw: Any) -> Float[Array, "*any in_channels"]:
        """As the network sees them."""
        return _scaled(raw, self.input_mean, self.input_std)

    def outputs(self, raw: Any) -> Float[Array, "*any channels"]:
        """As the network gives them."""
        return _scaled(raw, self.output_mean, self.output_std)

    def back(self, scaled: Float[Array, "*any channels"]) -> Float[Array, "..."]:
        """Outputs in their own units."""
        mean, std = _like(self.output_mean, scaled), _like(self.output_std, scaled)
        return mean + std * scaled

    def places(self, raw: Float[Array, "*any dim"]) -> Float[Array, "*any dim"]:
        """As the network sees them."""
        return (raw - _like(self.place_mean, raw)) / _like(self.place_std, raw)


def _scaled(raw: Any, mean: Array, std: Array) -> Array:
    """On the host and in double precision: the mean may be far larger than the rest."""
    found = (np.asarray(raw, float) - np.asarray(mean, float)) / np.asarray(std, float)
    return jnp.asarray(found, mean.dtype)


def _like(channels: Array, array: Array) -> Array:
    return channels.reshape(*(1,) * (array.ndim - 1), -1)
