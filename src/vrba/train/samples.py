"""Pairs of functions as samples that a step can take."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..data import Pairs
from .scaling import Scaling


class Samples(eqx.Module):
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
    ) -> "Samples":
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
    network: Any, functions: Array, places: Array, rows: Samples
) -> Float[Array, "batch *grid channels"]:
    """The network's outputs for a batch."""
    axes = (0, None if rows.times is None else 0)
    return jax.vmap(network, in_axes=axes)(functions, places)
