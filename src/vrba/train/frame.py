"""Where the functions of an operator live."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError
from ..data import Pairs, output_points, quadrature_weights
from .scaling import Scaling


class Frame(eqx.Module):
    """All that a network needs to be called: the scaling of its data, the shape of its
    functions, the places of its outputs and, if each time is a sample of its own, the
    times, as the network sees them; the share of each place in an integral, of mean
    one, if they differ."""

    scaling: Scaling
    places: Float[Array, "*grid dim"]
    times: Float[Array, " times"] | None
    shares: Float[Array, "*grid"] | None
    time_axis: int = eqx.field(static=True)
    in_shape: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, pairs: Pairs, scaling: Scaling, splits: str | None) -> "Frame":
        """That of pairs; `splits` is the name of the axis of time, if any."""
        if splits is not None and (pairs.axes is None or splits not in pairs.names):
            raise InputError(
                f"`splits` is {splits!r}, but the coordinates of the grid are "
                f"{pairs.names if pairs.axes is not None else 'scattered'}."
            )
        axis = None if splits is None else pairs.names.index(splits)
        raw, shares = pairs.places, pairs.quadrature()
        if np.ptp(shares) > 0 and splits is not None:
            raise InputError("`splits` needs points that are even along every axis.")
        return cls._made(raw, shares, scaling, axis, tuple(pairs.inputs.shape[1:]))

    @classmethod
    def _made(cls, raw, shares, scaling, axis, in_shape) -> "Frame":
        dtype = scaling.place_mean.dtype
        places = scaling.places(jnp.asarray(raw, dtype))
        shares = jnp.asarray(shares, dtype) if np.ptp(shares) > 0 else None
        if axis is None:
            return cls(scaling, places, None, shares, 0, in_shape)
        places = jnp.moveaxis(places, axis, 0)
        times = places[(slice(None), *(0,) * (places.ndim - 2), axis)]
        return cls(scaling, places[0], times, None, axis, in_shape)

    def at(self, time: Float[Array, ""]) -> Float[Array, "*grid dim"]:
        """The places of one time, where times are split."""
        return self.places.at[..., self.time_axis].set(time)


def describe_frame(pairs: Pairs, frame: Frame) -> dict[str, Any]:
    """As plain values, for a JSON file."""
    names = [name for name in vars(frame.scaling)]
    numbers = {name: np.asarray(getattr(frame.scaling, name)) for name in names}
    places = {"scattered": np.asarray(pairs.scattered).tolist()}
    if pairs.axes is not None:
        places = {"axes": [np.asarray(axis).tolist() for axis in pairs.axes]}
    return {
        "scaling": {name: number.tolist() for name, number in numbers.items()},
        **places,
        "names": list(pairs.names),
        "in_shape": list(frame.in_shape),
    }


def frame_from(described: Mapping[str, Any], dtype: Any, splits: str | None) -> Frame:
    """What `describe_frame` described."""
    numbers = described["scaling"].items()
    scaling = Scaling(**{name: jnp.asarray(number, dtype) for name, number in numbers})
    names, axes, scattered = described["names"], None, None
    if "axes" in described:
        axes = tuple(np.asarray(axis, float) for axis in described["axes"])
    else:
        scattered = np.asarray(described["scattered"], float)
    raw, shares = output_points(axes, scattered), quadrature_weights(axes, scattered)
    axis = None if splits is None else names.index(splits)
    return Frame._made(raw, shares, scaling, axis, tuple(described["in_shape"]))
