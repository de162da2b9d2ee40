"""The network of an operator: how it is made, called and measured."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import cast_floats, float_dtype
from ..models import AbstractOperatorArchitecture
from ._base import stream
from .frame import Frame
from .operator_recipe import OperatorRecipe
from .samples import Samples

_AT_ONCE = 8  # functions that are evaluated together


def network_of(recipe: OperatorRecipe, frame: Frame, root: Any) -> Any:
    """The network before training: built, or the user's own with its numbers in the
    type of the run."""
    if not isinstance(recipe.model, AbstractOperatorArchitecture):
        return cast_floats(recipe.model, float_dtype(recipe.dtype))
    *grid, dim = frame.places.shape
    out_shape = (*grid, frame.scaling.output_mean.shape[0])
    key, dtype = stream(root, 0), float_dtype(recipe.dtype)
    return recipe.model.build(frame.in_shape, out_shape, dim, key=key, dtype=dtype)


def skeleton_of(network: Any) -> Any:
    """All of a network that is not trained."""
    return eqx.filter(network, eqx.is_inexact_array, inverse=True)


def predict(
    network: Any, functions: Array, places: Array, frame: Frame
) -> Float[Array, "batch *grid channels"]:
    """The network's outputs for a batch."""
    axes = (0, None if frame.times is None else 0)
    return jax.vmap(network, in_axes=axes)(functions, places)


@eqx.filter_jit
def relative_errors(
    network: Any, rows: Samples, num_at_once: int
) -> Float[Array, " funcs"]:
    """`|u - target|_2 / |target|_2` of each function over all places and times, as the
    network sees them; so many rows are evaluated at a time."""
    frame = rows.frame
    shares = 1 if frame.shares is None else frame.shares[None, None, ..., None]

    def one(row):
        functions, places, targets = rows.take(row[None])
        predicted = predict(network, functions, places, frame)
        squares = jnp.stack([(predicted - targets) ** 2, targets**2])
        return jnp.sum(shares * squares, axis=tuple(range(1, squares.ndim)))

    ids = jnp.arange(rows.num_rows, dtype=jnp.int32)
    squares = jax.lax.map(one, ids, batch_size=min(num_at_once, rows.num_rows))
    miss, size = squares.reshape(rows.inputs.shape[0], -1, 2).sum(axis=1).T
    return jnp.sqrt(miss / jnp.where(size > 0, size, 1))


@eqx.filter_jit
def scaled_outputs(
    network: Any, frame: Frame, scaled: Float[Array, "funcs *in_grid in"]
) -> Float[Array, "funcs *grid channels"]:
    """What the network makes of scaled functions, with the axes of the data."""

    def one(function):
        if frame.times is None:
            return network(function, frame.places)
        found = jax.lax.map(lambda time: network(function, frame.at(time)), frame.times)
        return jnp.moveaxis(found, 0, frame.time_axis)

    return jax.lax.map(one, scaled, batch_size=min(_AT_ONCE, scaled.shape[0]))


@eqx.filter_jit
def outputs_at(
    network: Any,
    scaled: Float[Array, "funcs *in_grid in"],
    places: Float[Array, "*grid dim"],
) -> Float[Array, "funcs *grid channels"]:
    """What the network makes of scaled functions at scaled places."""
    at = lambda function: network(function, places)
    return jax.lax.map(at, scaled, batch_size=min(_AT_ONCE, scaled.shape[0]))
