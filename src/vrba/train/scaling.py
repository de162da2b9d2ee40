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
        arrays = (*pairs.load("train"), pairs.places)
        (first, second, third) = (_moments(array, dtype) for array in arrays)
        if not centres:
            first, second = (0 * first[0], first[1]), (0 * second[0], second[1])
        numbers = (*first, *second, *third)
        return cls(*(jnp.asarray(number, dtype) for number in numbers))

    def inputs(self, raw: Any) -> Float[Array, "*any in_channels"]:
        """As the network sees them."""
        return _scaled(raw, self.input_mean, self.input_std)

    def outputs(self, raw: Any) -> Float[Array, "*any channels"]:
        """As the network gives them."""
        return _scaled(raw, self.output_mean, self.output_std)

    def back(self, scaled: Any) -> Float[np.ndarray, "*any channels"]:
        """Outputs in their own units, on the host and in double precision."""
        mean, std = np.asarray(self.output_mean, float), np.asarray(self.output_std)
        return mean + std * np.asarray(scaled, float)

    def places(self, raw: Float[Array, "*any dim"]) -> Float[Array, "*any dim"]:
        """As the network sees them."""
        return (raw - _like(self.place_mean, raw)) / _like(self.place_std, raw)


def _moments(array: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each channel; one for what is constant but for rounding."""
    rows = np.asarray(array, float).reshape(-1, array.shape[-1])
    std, least = rows.std(axis=0), np.finfo(dtype).eps * np.max(np.abs(rows), axis=0)
    return rows.mean(axis=0), np.where(std > least, std, 1)


def _scaled(raw: Any, mean: Array, std: Array) -> Array:
    """On the host and in double precision: the mean may be far larger than the rest."""
    found = (np.asarray(raw, float) - np.asarray(mean, float)) / np.asarray(std, float)
    return jnp.asarray(found, mean.dtype)


def _like(channels: Array, array: Array) -> Array:
    return channels.reshape(*(1,) * (array.ndim - 1), -1)
