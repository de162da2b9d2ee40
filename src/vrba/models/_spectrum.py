"""Low frequencies of a field on a grid, by matrix products.

Of 64 points a Fourier layer keeps a dozen frequencies: a matrix with so many rows costs
less than a fast transform to all frequencies, and no axis is moved. Complex numbers are
an axis of two that stands where the next product sums over it:

    [1, x, y, t, channels]      a real field
    [kx, 2, y, t, channels]     after the product along x
    [kx, ky, 2, t, channels]    along y
    [kx, ky, kt, 2, channels]   along t
"""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._pointwise import for_each_function
from .complex_array import ComplexArray


def num_kept(modes: Sequence[int]) -> tuple[int, ...]:
    """How many frequencies are kept of each axis: of the last one those from zero on,
    since a real field has the others conjugate."""
    return (*modes[:-1], modes[-1] // 2 + 1)


def analyse(
    field: Float[Array, "*grid channels"], modes: Sequence[int]
) -> Float[Array, "*kept 2 channels"]:
    """The coefficients of the lowest frequencies: a constant has itself at zero."""
    waves = _waves(field.shape[:-1], modes)
    matrices = [_cast(wave.conj().T / len(wave), field.dtype) for wave in waves]
    return transform(field[None], matrices)


def synthesise(
    spectrum: Float[Array, "*kept 2 channels"],
    grid: Sequence[int],
    modes: Sequence[int],
) -> Float[Array, "*grid channels"]:
    """The real field that has these coefficients, and their conjugates."""
    waves = _waves(grid, modes)
    frequencies = np.arange(waves[-1].shape[1])
    is_alone = (frequencies == 0) | (2 * frequencies == grid[-1])
    waves[-1] = waves[-1] * np.where(is_alone, 1, 2)
    array, num_channels = spectrum, spectrum.shape[-1]
    for axis in reversed(range(len(waves))):
        parts = _parts(_cast(waves[axis], spectrum.dtype))
        parts = parts[:1] if axis == 0 else parts
        rows = jnp.transpose(parts, (0, 2, 3, 1)).reshape(-1, 2 * parts.shape[-1])
        array = _along(rows, array, math.prod(num_kept(modes)[:axis]))
    return array.reshape(*grid, num_channels)


def transform(
    array: Float[Array, "one_or_two *rest"], matrices: Sequence[ComplexArray]
) -> Float[Array, "..."]:
    """A matrix along each axis after the first, which holds the real part or both.

    The axis of two is then the one behind those that were multiplied.
    """
    others = array.shape[1 + len(matrices) :]
    shape: list[int] = []
    for axis, matrix in enumerate(matrices):
        parts = _parts(matrix)
        parts = parts[:, : array.shape[0]] if axis == 0 else parts
        num_rows = parts.shape[2]
        rows = jnp.transpose(parts, (2, 0, 1, 3)).reshape(2 * num_rows, -1)
        array = _along(rows, array, math.prod(shape))
        shape.append(num_rows)
    return array.reshape(*shape, 2, *others)


def multiply(
    spectrum: Float[Array, "*kept 2 inputs"],
    matrix: Float[Array, "*any_kept 2 inputs outputs"],
) -> Float[Array, "*kept 2 outputs"]:
    """Complex vectors times a complex matrix, or times one for each frequency."""
    real, imag = spectrum[..., 0, :], spectrum[..., 1, :]
    rows = [jnp.concatenate(row, axis=-1) for row in ((real, -imag), (imag, real))]
    stacked = jnp.stack(rows, axis=-2)
    *kept, _, num_inputs, num_outputs = matrix.shape
    matrix = matrix.reshape(*kept, 2 * num_inputs, num_outputs)
    return jnp.matmul(stacked, matrix)


def _waves(grid: Sequence[int], modes: Sequence[int]) -> list[np.ndarray]:
    """The complex waves `[points, frequencies]` of each axis."""
    found = []
    for axis, (num_points, count) in enumerate(zip(grid, modes, strict=True)):
        frequencies = np.arange(-(count // 2), (count + 1) // 2)
        if axis == len(modes) - 1:
            frequencies = np.arange(count // 2 + 1)
        turns = np.outer(np.arange(num_points), frequencies) % num_points
        found.append(np.exp(2j * np.pi * turns / num_points))
    return found


def _cast(matrix: np.ndarray, dtype: Any) -> ComplexArray:
    real, imag = np.real(matrix), np.imag(matrix)
    return ComplexArray(jnp.asarray(real, dtype), jnp.asarray(imag, dtype))


def _parts(matrix: ComplexArray) -> Float[Array, "2 2 rows columns"]:
    """What a complex matrix does to real and imaginary parts: `[to, from, ...]`."""
    real, imag = matrix.real, matrix.imag
    return jnp.stack([jnp.stack([real, -imag]), jnp.stack([imag, real])])


def _along(
    rows: Float[Array, "rows columns"], array: Float[Array, "..."], num_leading: int
) -> Float[Array, "leading rows rest"]:
    """The product along the axes behind the leading ones, as one for each of these."""
    flat = array.reshape(num_leading, rows.shape[1], -1)
    matrix = for_each_function(rows, flat)
    return jnp.broadcast_to(matrix, (num_leading, *rows.shape)) @ flat
