"""Where the functions of an operator live."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import Pairs
from .scaling import Scaling


class Frame(eqx.Module):
    """All that a network needs to be called: the scaling of its data, the shape of its
    functions, the places of its outputs and, if each time is a sample of its own, the
    times; both as the network sees them."""

    scaling: Scaling
    places: Float[Array, "*grid dim"]
    times: Float[Array, " times"] | None
    time_axis: int = eqx.field(static=True)
    in_shape: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, pairs: Pairs, scaling: Scaling, splits: str | None) -> "Frame":
        """That of pairs; `splits` is the name of the axis of time, if any."""
        if splits is not None and (pairs.axes is None or splits not in pairs.names):
            raise ValueError(
                f"`splits` is {splits!r}, but the coordinates of the grid are "
                f"{pairs.names if pairs.axes is not None else 'scattered'}."
            )
        axis = None if splits is None else pairs.names.index(splits)
        return cls._made(pairs.places, scaling, axis, tuple(pairs.inputs.shape[1:]))

    @classmethod
    def _made(cls, raw, scaling, axis, in_shape) -> "Frame":
        places = scaling.places(jnp.asarray(raw, scaling.place_mean.dtype))
        if axis is None:
            return cls(scaling, places, None, 0, in_shape)
        places = jnp.moveaxis(places, axis, 0)
        times = places[(slice(None), *(0,) * (places.ndim - 2), axis)]
        return cls(scaling, places[0], times, axis, in_shape)

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
    if "axes" in described:
        axes = [np.asarray(axis, float) for axis in described["axes"]]
        raw = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    else:
        raw = np.asarray(described["scattered"], float)
    axis = None if splits is None else described["names"].index(splits)
    return Frame._made(raw, scaling, axis, tuple(described["in_shape"]))
