"""Pairs of functions as rows that a step can take."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..data import Pairs


class Scaling(eqx.Module):
    """What a network sees of data: mean zero, deviation one over the training set for
    each channel; coordinates from -1 to 1. Kept with the network."""

    input_mean: Float[Array, " in_channels"]
    input_std: Float[Array, " in_channels"]
    output_mean: Float[Array, " channels"]
    output_std: Float[Array, " channels"]
    lower: Float[Array, " dim"]
    upper: Float[Array, " dim"]

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
        lower, upper = places.min(axis=0), places.max(axis=0)
        numbers += [lower, np.where(upper > lower, upper, lower + 1)]
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
        lower, upper = _like(self.lower, raw), _like(self.upper, raw)
        return 2 * (raw - lower) / (upper - lower) - 1


def _scaled(raw: Any, mean: Array, std: Array) -> Array:
    """On the host and in double precision: the mean may be far larger than the rest."""
    found = (np.asarray(raw, float) - np.asarray(mean, float)) / np.asarray(std, float)
    return jnp.asarray(found, mean.dtype)


def _like(channels: Array, array: Array) -> Array:
    return channels.reshape(*(1,) * (array.ndim - 1), -1)


class Rows(eqx.Module):
    """What is trained on, scaled. A row is a pair of functions; or, if times are split,
    a pair of functions at one time: row `k` is time `k % num_times` of pair
    `k // num_times`."""

    inputs: Float[Array, "funcs *in_grid in_channels"]
    targets: Float[Array, "rows *grid channels"]
    places: Float[Array, "*grid dim"]
    times: Float[Array, " times"] | None
    time_axis: int = eqx.field(static=True)

    @classmethod
    def of(
        cls, pairs: Pairs, part: str, scaling: Scaling, dtype: Any, splits: str | None
    ) -> "Rows":
        """The rows of a part; `splits` is the name of the axis of time, if any."""
        inputs, outputs = pairs.load(part)
        inputs, targets = scaling.inputs(inputs), scaling.outputs(outputs)
        places = scaling.places(jnp.asarray(pairs.places, dtype))
        if splits is None:
            return cls(inputs, targets, places, None, 0)
        if pairs.axes is None or splits not in pairs.names:
            raise ValueError(
                f"`splits` is {splits!r}, but the coordinates of the grid are "
                f"{pairs.names if pairs.axes is not None else 'scattered'}."
            )
        axis = pairs.names.index(splits)
        targets = jnp.moveaxis(targets, axis + 1, 1)
        targets = targets.reshape(-1, *targets.shape[2:])
        places = jnp.moveaxis(places, axis, 0)
        times = places[(slice(None), *(0,) * (places.ndim - 2), axis)]
        return cls(inputs, targets, places[0], times, axis)

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return self.targets.shape[0]

    def take(self, ids: Int[Array, " batch"]) -> tuple[Array, Array, Array]:
        """The functions, places and targets of some rows; the places are shared by all
        unless times are split."""
        targets = self.targets[ids]
        if self.times is None:
            return self.inputs[ids], self.places, targets
        num_times = self.times.shape[0]
        places = jax.vmap(self.at)(self.times[ids % num_times])
        return self.inputs[ids // num_times], places, targets

    def at(self, time: Float[Array, ""]) -> Float[Array, "*grid dim"]:
        """The places of one time, where times are split."""
        return self.places.at[..., self.time_axis].set(time)


def predict(
    network: Any, functions: Array, places: Array, rows: Rows
) -> Float[Array, "batch *grid channels"]:
    """The network's outputs for a batch."""
    axes = (0, None if rows.times is None else 0)
    return jax.vmap(network, in_axes=axes)(functions, places)
