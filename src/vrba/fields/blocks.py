"""Many points at once, in blocks that stay in the cache."""

import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_USUAL_CACHE = 1 << 20


def in_blocks(fn: Callable[[Any], Any], rows: Any, block_size: int) -> Any:
    """`fn` at each row of a pytree of arrays, block by block."""
    count = jax.tree.leaves(rows)[0].shape[0]
    if count <= block_size:
        return jax.vmap(fn)(rows)
    num_blocks = -(-count // block_size)
    each = -(-count // num_blocks)

    def one(block):
        start = jnp.minimum(block * each, count - each)
        cut = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, each)
        return jax.vmap(fn)(jax.tree.map(cut, rows))

    found = jax.lax.map(one, jnp.arange(num_blocks, dtype=jnp.int32))
    last = count - (num_blocks - 1) * each

    def joined(leaf):
        head = leaf[:-1].reshape((-1, *leaf.shape[2:]))
        return jnp.concatenate([head, leaf[-1][each - last :]])

    return jax.tree.map(joined, found)


def choose_block_size(num_numbers: int, dtype: Any) -> int:
    """The power of two of points, with `num_numbers` each in one layer, that comes
    nearest to filling half of the second-level cache."""
    try:
        cache = os.sysconf("SC_LEVEL2_CACHE_SIZE")
    except (ValueError, OSError):
        cache = 0
    cache = cache if cache > 0 else _USUAL_CACHE
    fitting = cache // (2 * num_numbers * np.dtype(dtype).itemsize)
    return int(np.clip(2 ** round(math.log2(max(fitting, 1))), 256, 4096))
