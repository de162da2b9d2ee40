"""Evaluation at many points, in blocks that fit into the cache."""

import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_DEFAULT_CACHE_BYTES = 1 << 20


def map_in_blocks(fn: Callable[[Any], Any], rows: Any, block_size: int) -> Any:
    """Map `fn` over the rows of a pytree of arrays, block by block."""
    count = jax.tree.leaves(rows)[0].shape[0]
    if count <= block_size:
        return jax.vmap(fn)(rows)
    num_blocks = -(-count // block_size)
    rows_per_block = -(-count // num_blocks)

    def map_block(block):
        start = jnp.minimum(block * rows_per_block, count - rows_per_block)
        cut = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, rows_per_block)
        return jax.vmap(fn)(jax.tree.map(cut, rows))

    results = jax.lax.map(map_block, jnp.arange(num_blocks, dtype=jnp.int32))
    num_last = count - (num_blocks - 1) * rows_per_block

    def join(leaf):
        # The last block overlaps the one before.
        head = leaf[:-1].reshape((-1, *leaf.shape[2:]))
        return jnp.concatenate([head, leaf[-1][rows_per_block - num_last :]])

    return jax.tree.map(join, results)


def choose_block_size(num_numbers: int, dtype: Any) -> int:
    """Return the number of points that fills half of the second-level cache.

    One layer stores `num_numbers` for each point. The result is a power of two.
    """
    try:
        cache = os.sysconf("SC_LEVEL2_CACHE_SIZE")
    except (ValueError, OSError):
        cache = 0
    cache = cache if cache > 0 else _DEFAULT_CACHE_BYTES
    fitting = cache // (2 * num_numbers * np.dtype(dtype).itemsize)
    return int(np.clip(2 ** round(math.log2(max(fitting, 1))), 256, 4096))
