"""From what the user hands in to sizes and ids that can be trusted."""

import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Num, Shaped

from ..core import InputError

ArrayOfNumbers = Num[Array | np.ndarray, "..."]
ArrayOfIds = Int[Array | np.ndarray, "..."]  # one axis; checked with a clear error


def as_shape(num_points: int | tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a pool; `ValueError` unless it is made of positive integers."""
    given = num_points if isinstance(num_points, tuple | list) else (num_points,)
    try:
        shape = tuple(operator.index(number) for number in given)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise InputError(
            f"`num_points` must be a positive integer or a tuple of them, got "
            f"{num_points!r}."
        )
    return shape


def check_points(
    name: str,
    needed: str,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
) -> Float[Array | np.ndarray, "points dim"]:
    """The points given to the `init` of a policy called `name`, which has use for the
    `needed` of each; `ValueError` unless there is one for each of a pool, finite."""
    shape = as_shape(num_points)
    if len(shape) != 1:
        raise InputError(
            f"`{name}` is for pools of points: `num_points` must be one number, got "
            f"{num_points}."
        )
    if points is None:
        raise InputError(
            f"`{name}` needs the {needed} of each point: give `init` its `points`."
        )
    points = points if isinstance(points, Tracer) else np.asarray(points)
    if points.ndim != 2:
        raise InputError(
            "`points` must have two axes, a row of coordinates for each point, got "
            f"shape {points.shape}."
        )
    if points.shape[0] != shape[0]:
        raise InputError(
            f"`points` must have {shape[0]} rows, one for each point, got "
            f"{points.shape[0]}."
        )
    if not isinstance(points, Tracer) and not np.all(np.isfinite(points)):
        row = int(np.argmin(np.all(np.isfinite(points), axis=1)))
        raise InputError(
            f"`points` must be finite, got {points[row].tolist()} in row {row}."
        )
    return points


def check_residual(
    residual: ArrayOfNumbers, ids: ArrayOfIds | None, shape: tuple[int, ...]
) -> Num[Array, "..."]:
    """The residual as an array; `ValueError` if it does not fit a state of `shape`.

    One trailing axis more than the state has is an axis of equations.
    """
    residual = jnp.asarray(residual)
    batch = shape[0] if ids is None else jnp.shape(ids)[0]
    expected = (batch, *shape[1:])
    if residual.shape == expected or residual.shape[:-1] == expected:
        return residual
    hint = (
        "pass `ids=` with the id of each row to update a part of them"
        if ids is None
        else "one row is needed for each of the ids"
    )
    raise InputError(
        f"`residual` has shape {residual.shape}, but with {batch} "
        f"{'points' if ids is None else 'ids'} it must have shape {expected}, or one "
        f"more axis for equations; {hint}."
    )


def check_ids(ids: ArrayOfIds | None, num_points: int) -> Int[Array, " batch"] | None:
    """The ids as an array; an error if one lies outside `0 .. num_points - 1`."""
    if ids is None:
        return None
    if jnp.ndim(ids) != 1 or not jnp.issubdtype(jnp.asarray(ids).dtype, jnp.integer):
        raise InputError(
            f"`ids` must be a one-dimensional array of integers, got shape "
            f"{jnp.shape(ids)} and dtype {jnp.asarray(ids).dtype}."
        )
    if jnp.shape(ids)[0] == 0:
        raise InputError("`ids` is empty: give at least one id, or skip the update.")
    if isinstance(ids, Tracer):
        return eqx.error_if(
            ids,
            (ids < 0) | (ids >= num_points),
            f"`ids` must lie between 0 and {num_points - 1}: the state holds "
            f"{num_points} points.",
        )
    outside = np.asarray(ids)[(np.asarray(ids) < 0) | (np.asarray(ids) >= num_points)]
    if outside.size:
        raise InputError(
            f"`ids` must lie between 0 and {num_points - 1}, got {outside.size} "
            f"outside, the first of them {outside[:5].tolist()}."
        )
    return jnp.asarray(ids)


def size_of(
    residual: Num[Array, "..."], num_axes: int, dtype: jnp.dtype
) -> Float[Array, "..."]:
    """Magnitudes; the norm over equations if there is one more axis.

    The largest entry is taken out before squaring, so that no square overflows.
    """
    if residual.ndim > num_axes and residual.shape[-1] == 1:
        # held back, else XLA works on rows of one number, and twice
        residual = jax.lax.optimization_barrier(residual.reshape(residual.shape[:-1]))
    size = jnp.abs(residual).astype(dtype)
    if size.ndim == num_axes:
        return size
    largest = jnp.max(size, axis=-1, keepdims=True)
    unit = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1)
    return unit[..., 0] * jnp.sqrt(jnp.sum(jnp.square(size / unit), axis=-1))


def count_once(
    ids: Int[Array, " batch"], is_good: Bool[Array, " batch"], num_points: int
) -> Bool[Array, " batch"]:
    """One good entry for every id that has any: a repeated point counts once."""
    order = jnp.arange(ids.size, dtype=jnp.int32)
    place = jnp.where(is_good, ids, num_points)
    owner = jnp.zeros(num_points, jnp.int32).at[place].set(order, mode="drop")
    return is_good & (owner[ids] == order)


def put(
    table: Shaped[Array, "ids *rest"],
    ids: Int[Array, " batch"],
    new: Shaped[Array, "batch *rest"],
    is_good: Bool[Array, " batch"],
) -> Shaped[Array, "ids *rest"]:
    """The table with the good new entries; a bad one leaves its id alone."""
    place = jnp.where(is_good, ids, table.shape[0])
    return table.at[place].set(new, mode="drop")
