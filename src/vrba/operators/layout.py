"""The layout of operator data: scaling, shapes and places."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError
from ..data import Pairs, is_uniform, output_points, quadrature_weights


class Scaling(eqx.Module):
    """Affine scaling to what the network sees: mean zero and deviation one, over the
    training set for each channel, and over the places for each coordinate."""

    input_mean: Float[Array, " in_channels"]
    input_std: Float[Array, " in_channels"]
    output_mean: Float[Array, " channels"]
    output_std: Float[Array, " channels"]
    place_mean: Float[Array, " dim"]
    place_std: Float[Array, " dim"]

    @classmethod
    def from_pairs(
        cls, pairs: Pairs, dtype: Any, *, subtract_mean: bool = True
    ) -> "Scaling":
        """The scaling of the training set; optionally without subtracting means."""
        arrays = (*pairs.load("train"), pairs.places)
        first, second, third = (_scale_of(array, dtype) for array in arrays)
        if not subtract_mean:
            first, second = (0 * first[0], first[1]), (0 * second[0], second[1])
        numbers = (*first, *second, *third)
        return cls(*(jnp.asarray(number, dtype) for number in numbers))

    def inputs(self, raw: Any) -> Float[Array, "*any in_channels"]:
        """Scaled inputs."""
        return _scaled(raw, self.input_mean, self.input_std)

    def outputs(self, raw: Any) -> Float[Array, "*any channels"]:
        """Scaled outputs."""
        return _scaled(raw, self.output_mean, self.output_std)

    def unscaled_outputs(self, scaled: Any) -> Float[np.ndarray, "*any channels"]:
        """Outputs in physical units, on the host and in double precision."""
        mean, std = np.asarray(self.output_mean, float), np.asarray(self.output_std)
        return mean + std * np.asarray(scaled, float)

    def places(self, raw: Float[Array, "*any dim"]) -> Float[Array, "*any dim"]:
        """Scaled coordinates."""
        shape = (*(1,) * (raw.ndim - 1), -1)
        return (raw - self.place_mean.reshape(shape)) / self.place_std.reshape(shape)


def moments(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel, the last axis."""
    rows = np.asarray(array, float).reshape(-1, array.shape[-1])
    return rows.mean(axis=0), rows.std(axis=0)


def _scale_of(array: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each channel; one for channels constant up to rounding."""
    mean, std = moments(array)
    axes = tuple(range(np.ndim(array) - 1))
    least = np.finfo(dtype).eps * np.max(np.abs(np.asarray(array, float)), axis=axes)
    return mean, np.where(std > least, std, 1)


def _scaled(raw: Any, mean: Array, std: Array) -> Array:
    """On the host and in double precision: the mean may be far larger than the rest."""
    found = (np.asarray(raw, float) - np.asarray(mean, float)) / np.asarray(std, float)
    return jnp.asarray(found, mean.dtype)


class DataLayout(eqx.Module):
    """Everything needed to call a network: scaling, shape of the inputs, and the places
    of the outputs as the network sees them.

    With a split axis, `times` holds the times and `places` the places of one time.
    `quadrature` is the quadrature weight of each place, of mean one, unless equal.
    """

    scaling: Scaling
    places: Float[Array, "*grid dim"]
    times: Float[Array, " times"] | None
    quadrature: Float[Array, "*grid"] | None
    time_axis: int = eqx.field(static=True)
    in_shape: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def from_pairs(
        cls, pairs: Pairs, scaling: Scaling, split_axis: str | None
    ) -> "DataLayout":
        """The layout of pairs; `split_axis` names the axis of time, if any."""
        is_named = pairs.axes is not None and split_axis in pairs.names
        if split_axis is not None and not is_named:
            raise InputError(
                f"`split_axis` is {split_axis!r}, but the coordinates of the grid are "
                f"{pairs.names if pairs.axes is not None else 'scattered'}."
            )
        axis = None if split_axis is None else pairs.names.index(split_axis)
        raw, quadrature = pairs.places, pairs.quadrature()
        if np.ptp(quadrature) > 0 and split_axis is not None:
            raise InputError("`split_axis` needs a regular grid along every axis.")
        return cls._build(raw, quadrature, scaling, axis, tuple(pairs.inputs.shape[1:]))

    @classmethod
    def _build(cls, raw, quadrature, scaling, axis, in_shape) -> "DataLayout":
        dtype = scaling.place_mean.dtype
        places = scaling.places(jnp.asarray(raw, dtype))
        is_equal = np.ptp(quadrature) == 0
        quadrature = None if is_equal else jnp.asarray(quadrature, dtype)
        if axis is None:
            return cls(scaling, places, None, quadrature, 0, in_shape)
        places = jnp.moveaxis(places, axis, 0)
        times = places[(slice(None), *(0,) * (places.ndim - 2), axis)]
        return cls(scaling, places[0], times, None, axis, in_shape)

    def places_at(self, time: Float[Array, ""]) -> Float[Array, "*grid dim"]:
        """The places of one time, with a split axis."""
        return self.places.at[..., self.time_axis].set(time)


def grid_spacings(
    pairs: Pairs, scaling: Scaling, split_axis: str | None
) -> tuple[float, ...] | None:
    """The distance of grid points along each axis of a sample, in the network's units;
    `None` without a regular grid."""
    if pairs.axes is None:
        return None
    scales = np.asarray(scaling.place_std, float)
    spacings = []
    for name, axis, scale in zip(pairs.names, pairs.axes, scales, strict=True):
        if name == split_axis:
            continue
        if len(axis) < 2 or not is_uniform(axis):
            return None
        spacings.append(float((axis[1] - axis[0]) / scale))
    return tuple(spacings)


def describe_layout(pairs: Pairs, layout: DataLayout) -> dict[str, Any]:
    """The layout as plain values, for a JSON file."""
    names = [name for name in vars(layout.scaling)]
    numbers = {name: np.asarray(getattr(layout.scaling, name)) for name in names}
    places = {"scattered": np.asarray(pairs.scattered).tolist()}
    if pairs.axes is not None:
        places = {"axes": [np.asarray(axis).tolist() for axis in pairs.axes]}
    return {
        "scaling": {name: number.tolist() for name, number in numbers.items()},
        **places,
        "names": list(pairs.names),
        "in_shape": list(layout.in_shape),
    }


def layout_from(
    described: Mapping[str, Any], dtype: Any, split_axis: str | None
) -> DataLayout:
    """The layout that `describe_layout` described."""
    numbers = described["scaling"].items()
    scaling = Scaling(**{name: jnp.asarray(number, dtype) for name, number in numbers})
    names, axes, scattered = described["names"], None, None
    if "axes" in described:
        axes = tuple(np.asarray(axis, float) for axis in described["axes"])
    else:
        scattered = np.asarray(described["scattered"], float)
    raw, quadrature = (
        output_points(axes, scattered),
        quadrature_weights(axes, scattered),
    )
    axis = None if split_axis is None else names.index(split_axis)
    in_shape = tuple(described["in_shape"])
    return DataLayout._build(raw, quadrature, scaling, axis, in_shape)
