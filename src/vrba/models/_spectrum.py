"""Low-frequency Fourier coefficients of a field on a grid, by matrix products.

A Fourier layer keeps about a dozen of 64 frequencies. A matrix with that many rows
costs less than a fast Fourier transform to all frequencies, and no axis moves. Complex
numbers are an axis of two, placed where the next product sums over it:

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

from ._layers import repeat_for_each_function
from .parameters import ComplexArray


def spectrum_shape(modes: Sequence[int]) -> tuple[int, ...]:
    """Return the number of retained frequencies of each axis.

    The last axis has no negative ones, since the spectrum of a real field is conjugate
    symmetric.
    """
    return (*modes[:-1], modes[-1] // 2 + 1)


def fourier_coefficients(
    field: Float[Array, "*grid channels"], modes: Sequence[int]
) -> Float[Array, "*kept 2 channels"]:
    """Return the lowest Fourier coefficients; the one of frequency zero is the mean."""
    exponentials = _exponentials(field.shape[:-1], modes)
    matrices = [_cast(e.conj().T / len(e), field.dtype) for e in exponentials]
    return transform_axes(field[None], matrices)


def field_from_coefficients(
    spectrum: Float[Array, "*kept 2 channels"],
    grid: Sequence[int],
    modes: Sequence[int],
) -> Float[Array, "*grid channels"]:
    """Return the real field with these Fourier coefficients and their conjugates."""
    exponentials = _exponentials(grid, modes)
    frequencies = np.arange(exponentials[-1].shape[1])
    is_self_conjugate = (frequencies == 0) | (2 * frequencies == grid[-1])
    exponentials[-1] = exponentials[-1] * np.where(is_self_conjugate, 1, 2)
    array, num_channels = spectrum, spectrum.shape[-1]
    for axis in reversed(range(len(exponentials))):
        blocks = _real_blocks(_cast(exponentials[axis], spectrum.dtype))
        blocks = blocks[:1] if axis == 0 else blocks
        rows = jnp.transpose(blocks, (0, 2, 3, 1)).reshape(-1, 2 * blocks.shape[-1])
        array = _matmul_axis(rows, array, math.prod(spectrum_shape(modes)[:axis]))
    return array.reshape(*grid, num_channels)


def transform_axes(
    array: Float[Array, "one_or_two *rest"], matrices: Sequence[ComplexArray]
) -> Float[Array, "..."]:
    """Multiply by a complex matrix along each axis after the first.

    The first axis holds the real part, or real and imaginary parts. In the result the
    axis of two follows the axes that were multiplied.
    """
    others = array.shape[1 + len(matrices) :]
    shape: list[int] = []
    for axis, matrix in enumerate(matrices):
        blocks = _real_blocks(matrix)
        blocks = blocks[:, : array.shape[0]] if axis == 0 else blocks
        num_rows = blocks.shape[2]
        rows = jnp.transpose(blocks, (2, 0, 1, 3)).reshape(2 * num_rows, -1)
        array = _matmul_axis(rows, array, math.prod(shape))
        shape.append(num_rows)
    return array.reshape(*shape, 2, *others)


def complex_matmul(
    spectrum: Float[Array, "*kept 2 inputs"],
    matrix: Float[Array, "*any_kept 2 inputs outputs"],
) -> Float[Array, "*kept 2 outputs"]:
    """Multiply complex vectors by one complex matrix, or by one for each frequency."""
    real, imag = spectrum[..., 0, :], spectrum[..., 1, :]
    rows = [jnp.concatenate(row, axis=-1) for row in ((real, -imag), (imag, real))]
    stacked = jnp.stack(rows, axis=-2)
    *kept, _, num_inputs, num_outputs = matrix.shape
    matrix = matrix.reshape(*kept, 2 * num_inputs, num_outputs)
    return jnp.matmul(stacked, matrix)


def _exponentials(grid: Sequence[int], modes: Sequence[int]) -> list[np.ndarray]:
    """Return `exp(2 pi i k x)` of each axis, `[points, frequencies]`."""
    found = []
    for axis, (num_points, count) in enumerate(zip(grid, modes, strict=True)):
        frequencies = np.arange(-(count // 2), (count + 1) // 2)
        if axis == len(modes) - 1:
            frequencies = np.arange(count // 2 + 1)
        phases = np.outer(np.arange(num_points), frequencies) % num_points
        found.append(np.exp(2j * np.pi * phases / num_points))
    return found


def _cast(matrix: np.ndarray, dtype: Any) -> ComplexArray:
    real, imag = np.real(matrix), np.imag(matrix)
    return ComplexArray(jnp.asarray(real, dtype), jnp.asarray(imag, dtype))


def _real_blocks(matrix: ComplexArray) -> Float[Array, "2 2 rows columns"]:
    """Return the real 2 by 2 block form of a complex matrix: `[to, from, ...]`."""
    real, imag = matrix.real, matrix.imag
    return jnp.stack([jnp.stack([real, -imag]), jnp.stack([imag, real])])


def _matmul_axis(
    rows: Float[Array, "rows columns"], array: Float[Array, "..."], num_leading: int
) -> Float[Array, "leading rows rest"]:
    """Multiply along the axis behind the leading ones, batched over these."""
    flat = array.reshape(num_leading, rows.shape[1], -1)
    matrix = repeat_for_each_function(rows, flat)
    return jnp.broadcast_to(matrix, (num_leading, *rows.shape)) @ flat
