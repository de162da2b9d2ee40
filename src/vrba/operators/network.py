"""The network of an operator: build it, call it, measure its error."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import cast_floats, float_dtype
from ..models import AbstractOperatorArchitecture
from ..runs import random_stream
from .layout import DataLayout
from .recipe import OperatorRecipe
from .samples import Samples

_FUNCTIONS_AT_ONCE = 8


def initial_network(recipe: OperatorRecipe, layout: DataLayout, root: Any) -> Any:
    """The network before training: built, or the user's own cast to the run's dtype."""
    if not isinstance(recipe.model, AbstractOperatorArchitecture):
        return cast_floats(recipe.model, float_dtype(recipe.dtype))
    *grid, dim = layout.places.shape
    out_shape = (*grid, layout.scaling.output_mean.shape[0])
    key, dtype = random_stream(root, 0), float_dtype(recipe.dtype)
    return recipe.model.build(layout.in_shape, out_shape, dim, key=key, dtype=dtype)


def untrained_part(network: Any) -> Any:
    """The part of a network that is not trained."""
    return eqx.filter(network, eqx.is_inexact_array, inverse=True)


def predict(
    network: Any, functions: Array, places: Array, layout: DataLayout
) -> Float[Array, "batch *grid channels"]:
    """The outputs of the network for a batch."""
    axes = (0, None if layout.times is None else 0)
    return jax.vmap(network, in_axes=axes)(functions, places)


@eqx.filter_jit
def relative_errors(
    network: Any, rows: Samples, num_at_once: int
) -> Float[Array, " funcs"]:
    """The relative L2 error of each function over all places and times, in scaled
    units; `num_at_once` rows are evaluated together."""
    layout = rows.layout
    quadrature = layout.quadrature
    quadrature = 1 if quadrature is None else quadrature[None, None, ..., None]

    def squares_of_row(row):
        functions, places, targets = rows.take(row[None])
        predicted = predict(network, functions, places, layout)
        squares = jnp.stack([(predicted - targets) ** 2, targets**2])
        return jnp.sum(quadrature * squares, axis=tuple(range(1, squares.ndim)))

    ids = jnp.arange(rows.num_rows, dtype=jnp.int32)
    num_at_once = min(num_at_once, rows.num_rows)
    squares = jax.lax.map(squares_of_row, ids, batch_size=num_at_once)
    error, size = squares.reshape(rows.inputs.shape[0], -1, 2).sum(axis=1).T
    return jnp.sqrt(error / jnp.where(size > 0, size, 1))


@eqx.filter_jit
def scaled_outputs(
    network: Any, layout: DataLayout, scaled: Float[Array, "funcs *in_grid in"]
) -> Float[Array, "funcs *grid channels"]:
    """The outputs for scaled functions, with the axes of the data."""

    def outputs_of(function):
        if layout.times is None:
            return network(function, layout.places)
        at_time = lambda time: network(function, layout.places_at(time))
        found = jax.lax.map(at_time, layout.times)
        return jnp.moveaxis(found, 0, layout.time_axis)

    num_at_once = min(_FUNCTIONS_AT_ONCE, scaled.shape[0])
    return jax.lax.map(outputs_of, scaled, batch_size=num_at_once)


@eqx.filter_jit
def outputs_at(
    network: Any,
    scaled: Float[Array, "funcs *in_grid in"],
    places: Float[Array, "*grid dim"],
) -> Float[Array, "funcs *grid channels"]:
    """The outputs for scaled functions at scaled places."""
    outputs_of = lambda function: network(function, places)
    num_at_once = min(_FUNCTIONS_AT_ONCE, scaled.shape[0])
    return jax.lax.map(outputs_of, scaled, batch_size=num_at_once)
