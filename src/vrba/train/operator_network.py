"""The network of an operator: how it is made, called and measured."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import float_dtype
from ..models import AbstractOperatorArchitecture
from ._base import stream
from .frame import Frame
from .operator_recipe import OperatorRecipe
from .samples import Samples

_CHUNK = 50  # functions that are evaluated at a time


def network_of(recipe: OperatorRecipe, frame: Frame, root: Any) -> Any:
    """The network before training: built, or the user's own as it is."""
    if not isinstance(recipe.model, AbstractOperatorArchitecture):
        return recipe.model
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
def relative_errors(network: Any, rows: Samples) -> Float[Array, " rows"]:
    """`|u - target|_2 / |target|_2` of each row, as the network sees them."""

    def one(row):
        functions, places, targets = rows.take(row[None])
        predicted = predict(network, functions, places, rows.frame)
        axes = tuple(range(1, targets.ndim))
        size = jnp.sqrt(jnp.sum(targets**2, axis=axes))
        miss = jnp.sqrt(jnp.sum((predicted - targets) ** 2, axis=axes))
        return (miss / jnp.where(size > 0, size, 1))[0]

    ids = jnp.arange(rows.num_rows, dtype=jnp.int32)
    return jax.lax.map(one, ids, batch_size=min(_CHUNK, rows.num_rows))


@eqx.filter_jit
def outputs_of(
    network: Any, frame: Frame, scaled: Float[Array, "funcs *in_grid in"]
) -> Float[Array, "funcs *grid channels"]:
    """What the operator makes of scaled functions, in its own units, with the axes of
    the data."""

    def one(function):
        if frame.times is None:
            return network(function, frame.places)
        found = jax.lax.map(lambda time: network(function, frame.at(time)), frame.times)
        return jnp.moveaxis(found, 0, frame.time_axis)

    found = jax.lax.map(one, scaled, batch_size=min(_CHUNK, scaled.shape[0]))
    return frame.scaling.back(found)
