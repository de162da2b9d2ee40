"""Checked residuals, ids and shapes; residual sizes; updates of tables keyed by id."""

import functools
import math
import operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Num, Shaped

from ..core import InputError

ArrayOfNumbers = Num[Array | np.ndarray, "..."]
ArrayOfIds = Int[Array | np.ndarray, "..."]  # one axis, checked by `check_ids`


def as_shape(num_points: int | tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a pool, checked to consist of positive integers."""
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


def pool_size(name: str, num_points: int | tuple[int, ...]) -> tuple[int, bool]:
    """The number of points, and whether residuals have an axis of equations.

    The policy called `name` accepts `num_points` or `(num_points, 1)`.
    """
    shape = as_shape(num_points)
    if shape[1:] not in ((), (1,)):
        raise InputError(
            f"`{name}` needs a pool of points: `num_points` must be one number, or "
            f"`(number, 1)` for residuals with an axis of equations, got {num_points}."
        )
    return shape[0], len(shape) == 2


def check_points(
    name: str,
    needed: str,
    num_points: int | tuple[int, ...],
    points: Float[Array | np.ndarray, "points dim"] | None,
) -> Float[Array | np.ndarray, "points dim"]:
    """Check the coordinates given to the `init` of the policy called `name`.

    `needed` names what the policy reads from them, for the error message.
    """
    count, _ = pool_size(name, num_points)
    if points is None:
        raise InputError(
            f"`{name}` needs the {needed} of each point: pass `points=` to `init`."
        )
    points = points if isinstance(points, Tracer) else np.asarray(points)
    if points.ndim != 2:
        raise InputError(
            "`points` must have two axes, a row of coordinates for each point, got "
            f"shape {points.shape}."
        )
    if points.shape[0] != count:
        raise InputError(
            f"`points` must have {count} rows, one for each point, got "
            f"{points.shape[0]}."
        )
    if not isinstance(points, Tracer) and not np.all(np.isfinite(points)):
        row = int(np.argmin(np.all(np.isfinite(points), axis=1)))
        raise InputError(
            f"`points` must be finite, got {points[row].tolist()} in row {row}."
        )
    return points


def check_residual(
    residual: ArrayOfNumbers,
    ids: ArrayOfIds | None,
    shape: tuple[int, ...],
    equation_axis: Int[Array, "..."],
) -> Num[Array, "..."]:
    """Return the residual as an array, checked against a state of `shape`.

    One trailing axis more than `shape` is an axis of equations. It is required once
    `equation_axis` has it: the weights then have this axis too.
    """
    residual = jnp.asarray(residual)
    batch = shape[0] if ids is None else jnp.shape(ids)[0]
    expected = (batch, *shape[1:])
    if residual.shape[:-1] == expected:
        return residual
    if residual.shape == expected:
        if equation_axis.ndim == 0:
            return residual
        raise InputError(
            f"`residual` has shape {residual.shape}, but the state is for residuals "
            f"with an axis of equations: give shape {(*expected, 1)}, or make another "
            "state with `init`."
        )
    hint = (
        "To update some points only, pass `ids=` with the id of each row"
        if ids is None
        else "Give one row for each id"
    )
    raise InputError(
        f"`residual` has shape {residual.shape}, but with {batch} "
        f"{'points' if ids is None else 'ids'} it must have shape {expected}, or one "
        f"more axis for equations. {hint}."
    )


def check_base(
    base: Float[Array | np.ndarray, "..."], shape: tuple[int, ...], dtype: jnp.dtype
) -> Float[Array, "..."]:
    """The base normalised to sum one, checked to be nonnegative and finite."""
    numbers = jnp.asarray(base, dtype)
    if numbers.shape != shape:
        raise InputError(f"`base` must have shape {shape}, got {numbers.shape}.")
    total = jnp.sum(numbers)
    is_good = jnp.all(numbers >= 0) & jnp.isfinite(total) & (total > 0)
    message = "`base` must hold finite numbers >= 0, not all of them zero."
    return eqx.error_if(numbers, ~is_good, message) / total


def no_equation_axis() -> Int[Array, ""]:
    """The `equation_axis` of a state whose weights have no axis of equations."""
    return jnp.zeros((), jnp.int32)


def equation_axis_of(
    residual: Num[Array, "..."], shape: tuple[int, ...]
) -> Int[Array, "..."]:
    """The `equation_axis` of a state of `shape` after an update with `residual`.

    Only its own shape matters: `()` or `(1,)`. A state is then a plain pytree of arrays
    without static parts, and `scan` reports a change of shape instead of hiding it.
    """
    return jnp.zeros((1,) * (residual.ndim - len(shape)), jnp.int32)


def follow_residual(
    weight: Float[Array, "..."], equation_axis: Int[Array, "..."]
) -> Float[Array, "..."]:
    """Append an axis of one to weights if residuals have an axis of equations."""
    return weight.reshape(*weight.shape, *equation_axis.shape)


def check_ids(ids: ArrayOfIds | None, num_points: int) -> Int[Array, " batch"] | None:
    """Return the ids as an array, checked to lie in `0 .. num_points - 1`."""
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
        # The check returns a number, not the ids, so that it works in `shard_map`.
        zero = eqx.error_if(
            jnp.zeros((), ids.dtype),
            (ids < 0) | (ids >= num_points),
            f"`ids` must lie between 0 and {num_points - 1}: the state holds "
            f"{num_points} points.",
        )
        return ids + zero
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
    """Magnitudes; the norm over equations if there is one axis more than `num_axes`.

    Entries are divided by the largest one before squaring, so no square overflows.
    """
    if residual.ndim > num_axes and residual.shape[-1] == 1:
        # Without the barrier XLA works on rows of one number, and twice.
        residual = jax.lax.optimization_barrier(residual.reshape(residual.shape[:-1]))
    size = jnp.abs(residual).astype(dtype)
    if size.ndim == num_axes:
        return size
    largest = jnp.max(size, axis=-1, keepdims=True)
    unit = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1)
    return unit[..., 0] * jnp.sqrt(jnp.sum(jnp.square(size / unit), axis=-1))


def residual_norm(residual: Num[Array, "..."]) -> Float[Array, "..."]:
    """The norm over the last axis, the equations or channels, without overflow.

    `policy.update(state, residual_norm(residual), ids)` gives the same weights as
    `policy.update(state, residual, ids)`, without an axis of equations.
    """
    if not jnp.issubdtype(residual.dtype, jnp.inexact):
        residual = residual.astype(float)
    return size_of(residual, residual.ndim - 1, residual.real.dtype)


def count_once(
    ids: Int[Array, " batch"], is_good: Bool[Array, " batch"], num_points: int
) -> Bool[Array, " batch"]:
    """Select one good entry per id, so that a repeated point counts once."""
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
    """Write the good new entries into the table; other ids keep their entry."""
    place = jnp.where(is_good, ids, table.shape[0])
    return table.at[place].set(new, mode="drop")


def replace_rows(
    table: Shaped[Array, "ids *rest"],
    ids: Int[Array, " batch"] | None,
    new: Shaped[Array, "batch *rest"],
    is_good: Bool[Array, " batch"],
) -> Shaped[Array, "ids *rest"]:
    """`put`, or for `ids=None` the same for all points."""
    if ids is None:
        return jnp.where(is_good, new, table)
    return put(table, ids, new, is_good)


def rows(
    table: Float[Array, "points *eqs"], ids: ArrayOfIds | None
) -> Float[Array, "batch *eqs"]:
    """The rows of `ids`, or all of them."""
    checked: Int[Array, " batch"] | None = check_ids(ids, table.shape[0])
    return table if checked is None else table[checked]


def vary_with(tree: Any, *like: Shaped[Array, ""]) -> Any:
    """Let every leaf vary over the `shard_map` axes over which one of `like` varies.

    Both branches of a `cond` must agree on these axes. Outside `shard_map` this does
    nothing.
    """
    plain = jax.typeof(jnp.zeros((), bool))
    falses = [jnp.zeros_like(one, bool) for one in like]  # these vary as `like`
    falses = [false for false in falses if jax.typeof(false) != plain]
    if not falses:
        return tree
    never = functools.reduce(jnp.logical_or, falses)
    return jax.tree.map(lambda leaf: jnp.where(never, leaf, leaf), tree)


def log_largest_argument(dtype: jnp.dtype) -> float:
    """Logarithm of the largest `size / temperature`: its square cannot overflow."""
    return 0.25 * math.log(float(jnp.finfo(dtype).max))
