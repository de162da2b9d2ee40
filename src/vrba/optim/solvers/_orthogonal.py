"""The triangle `R` of `J = QR`, block by block: as accurate as `J` itself."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import flatten
from ..least_squares import AbstractLeastSquares, AbstractTerm

Square = Float[Array, "params params"]
Vector = Float[Array, " params"]


def triangle_of(objective: AbstractLeastSquares, params: Any) -> tuple[Square, Vector]:
    """`R` and `Q'r`. Blocks are stacked until they have as many rows as columns."""
    size = flatten(params)[0].size
    root = jnp.zeros((size + 1, size + 1), flatten(params)[0].dtype)
    for term in objective.terms:
        root = _absorb(root, term, params)
    return root[:size, :size], root[:size, size]


def _absorb(root: Square, term: AbstractTerm, params: Any) -> Square:
    """The triangle of `root` and all rows of a term."""

    def augmented(block):
        rows, jacobian = term.jacobian(params, block)
        return jnp.concatenate([jacobian, rows[:, None]], axis=1)

    rows = jax.eval_shape(augmented, jnp.zeros((), jnp.int32)).shape[0]
    group = min(math.ceil(root.shape[0] / rows), term.num_blocks)
    num_groups = math.ceil(term.num_blocks / group)

    def body(index, root):
        blocks = index * group + jnp.arange(group, dtype=jnp.int32)
        stack = jax.lax.map(augmented, jnp.minimum(blocks, term.num_blocks - 1))
        stack = jnp.where((blocks < term.num_blocks)[:, None, None], stack, 0)
        stack = stack.reshape(group * rows, root.shape[0])
        return jnp.linalg.qr(jnp.concatenate([root, stack]), mode="r")

    first, last = (jnp.asarray(n, jnp.int32) for n in (0, num_groups))
    return jax.lax.fori_loop(first, last, body, root)


def damped_triangle(
    root: Square, projected: Vector, damping: Float[Array, ""]
) -> tuple[Square, Vector]:
    """The triangle and right side of `[J; sqrt(damping) I]`, from those of `J`."""
    size = root.shape[0]
    below = jnp.sqrt(damping) * jnp.eye(size, dtype=root.dtype)
    top = jnp.concatenate([root, projected[:, None]], axis=1)
    below = jnp.concatenate([below, jnp.zeros_like(projected)[:, None]], axis=1)
    both = jnp.linalg.qr(jnp.concatenate([top, below]), mode="r")
    return both[:size, :size], both[:size, size]
