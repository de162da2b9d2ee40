"""Cells of points that share one weight: their shapes, sums and residual sizes."""

import math
import operator

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core import InputError
from ._inputs import vary_with


def as_cells(cells: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The number of points of a cell along each axis, checked to be positive."""
    if cells is None:
        return None
    try:
        counts = tuple(operator.index(count) for count in cells)
    except TypeError:
        counts = ()
    if not counts or min(counts) < 1:
        raise InputError(
            "`Hybrid(cells=...)` must be a tuple of positive integers, one for each "
            f"axis of points, or None, got {cells!r}."
        )
    return counts


def cell_shape(shape: tuple[int, ...], cells: tuple[int, ...]) -> tuple[int, ...]:
    """The number of functions, and of cells along each axis of points."""
    if len(cells) != len(shape) - 1:
        raise InputError(
            f"`Hybrid(cells={cells})` has {len(cells)} numbers, but there are "
            f"{len(shape) - 1} axes of points, {shape[1:]}. Give one number per axis."
        )
    for axis, (count, size) in enumerate(zip(shape[1:], cells, strict=True)):
        if count % size:
            fits = [number for number in range(1, count + 1) if count % number == 0]
            raise InputError(
                f"`Hybrid(cells={cells})` has cells of {size} along axis {axis} of "
                f"points, which has {count} points. Choose a divisor of {count}: one "
                f"of {fits}."
            )
    return shape[0], *(n // size for n, size in zip(shape[1:], cells, strict=True))


def point_shape(shape: tuple[int, ...], cells: tuple[int, ...]) -> tuple[int, ...]:
    """The number of functions, and of points along each axis."""
    return shape[0], *(n * size for n, size in zip(shape[1:], cells, strict=True))


def sum_cells(
    x: Float[Array, "funcs *points"], cells: tuple[int, ...]
) -> Float[Array, "funcs *cells"]:
    """The sum over the points of each cell."""
    for axis, size in enumerate(cells, start=1):
        x = _sum_along(x, axis, size)
    return x


def repeat_cells(
    x: Float[Array, "funcs *cells"], cells: tuple[int, ...]
) -> Float[Array, "funcs *points"]:
    """Give each point the value of its cell."""
    for axis, size in enumerate(cells, start=1):
        x = x if size == 1 else jnp.repeat(x, size, axis)
    return x


def cell_sizes(
    size: Float[Array, "funcs *points"],
    share: Float[Array, "funcs *points"] | None,
    cells: tuple[int, ...],
) -> tuple[Float[Array, "funcs *cells"], Int[Array, ""]]:
    """Root mean square size of each cell, and the number of sizes that are not finite.

    `share` is the base of the points, `None` the uniform one. Sizes that are not finite
    are ignored; a cell without a finite size gets NaN. Sizes are divided by the largest
    one of the function before squaring, so no square overflows.
    """

    def root(size, share, total):
        largest = jnp.max(size, axis=tuple(range(1, size.ndim)), keepdims=True)
        unit = jnp.where(largest > 0, largest, 1)
        square = jnp.square(size / unit)
        square = sum_cells(square if share is None else share * square, cells)
        return unit * jnp.sqrt(square / jnp.where(total > 0, total, 1))

    num_points = jnp.asarray(math.prod(cells), size.dtype)
    whole = num_points if share is None else sum_cells(share, cells)

    def root_of_all():
        found = root(size, share, whole), jnp.zeros((), jnp.int32)
        return vary_with(found, largest)

    def root_of_finite():
        is_finite = jnp.isfinite(size)
        counts = jnp.where(is_finite, 1 if share is None else share, 0)
        total = sum_cells(counts.astype(size.dtype), cells)
        found = root(jnp.where(is_finite, size, 0), share, total)
        is_known = (total > 0) | (whole == 0)
        num_rejected = jnp.sum(~is_finite, dtype=jnp.int32)
        return vary_with((jnp.where(is_known, found, jnp.nan), num_rejected), largest)

    largest = jnp.max(size)
    return jax.lax.cond(jnp.isfinite(largest), root_of_all, root_of_finite)


def _sum_along(x, axis, size):
    """Sum slices of a few points at a time: a CPU sums short rows slowly."""
    step = max(number for number in range(1, 9) if size % number == 0)
    if step > 1:
        slices = (jax.lax.slice_in_dim(x, k, None, step, axis) for k in range(step))
        return _sum_along(sum(slices), axis, size // step)
    if size == 1:
        return x
    apart = x.reshape(*x.shape[:axis], -1, size, *x.shape[axis + 1 :])
    return jnp.sum(apart, axis=axis + 1)
