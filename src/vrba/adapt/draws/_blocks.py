"""Points in blocks: positions of a cumulative sum are found without making it.

A draw turns positions in `[0, total mass)` into points. Only the masses of blocks are
summed up; inside its block a position is found by a short walk. In float32 this also
keeps the resolution that a sum over ten million points would lose.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Blocks(eqx.Module):
    """The masses of points in blocks of `size`, and the blocks' cumulative masses."""

    mass: Float[Array, " padded_points"]
    cumulative: Float[Array, " blocks"]
    size: int = eqx.field(static=True)

    @property
    def total(self) -> Float[Array, ""]:
        """The mass of all points."""
        return self.cumulative[-1]


def make_blocks(mass: Float[Array, " points"]) -> Blocks:
    """Blocks of 8 points, of more beyond a million points."""
    num_halvings = max(3, (mass.size - 1).bit_length() - 17)
    size = 2**num_halvings
    num_blocks = -(-mass.size // size)
    padded = jnp.pad(mass, (0, num_blocks * size - mass.size))
    block_mass = padded
    for _ in range(num_halvings):  # pairwise: a CPU sums short rows slowly
        pairs = block_mass.reshape(-1, 2)
        block_mass = pairs[:, 0] + pairs[:, 1]
    return Blocks(padded, cumulative_sum(block_mass), size)


def cumulative_sum(x: Float[Array, " rows"], width: int = 32) -> Float[Array, " rows"]:
    """Running sums, by products with a triangle of ones: on a CPU the fastest way."""
    num_rows = -(-x.size // width)
    rows = jnp.pad(x, (0, num_rows * width - x.size)).reshape(num_rows, width)
    triangle = jnp.triu(jnp.ones((width, width), x.dtype))
    within = jnp.matmul(rows, triangle, precision=jax.lax.Precision.HIGHEST)
    if num_rows == 1:
        return within[0, : x.size]
    before = jnp.pad(cumulative_sum(within[:, -1], width)[:-1], (1, 0))
    return (within + before[:, None]).reshape(-1)[: x.size]


def block_of(blocks: Blocks, position: Float[Array, " draws"]) -> Int[Array, " draws"]:
    """The block of each position, by binary search."""
    num_blocks = blocks.cumulative.size
    length = 2 ** math.ceil(math.log2(num_blocks)) if num_blocks > 1 else 1
    padding = (0, length - num_blocks)
    table = jnp.pad(blocks.cumulative, padding, constant_values=jnp.inf)
    count, step = jnp.zeros(position.shape, jnp.int32), length // 2
    while step:
        is_below = take(table, count + (step - 1)) <= position
        count, step = jnp.where(is_below, count + step, count), step // 2
    return jnp.minimum(count, num_blocks - 1)


def block_of_slots(
    blocks: Blocks,
    num_slots: int,
    place_fn: Callable[[Int[Array, " any"]], Float[Array, " any"]],
) -> Int[Array, " {num_slots}"]:
    """The block of each position `(j + place_fn(j)) total / n`, slot by slot.

    Sorted positions need no search: a block that ends at `x` slots ends after
    `floor(x)` positions, and after one more if the place in that slot is below the
    fraction. Counting the ends up to each slot gives its block.
    """
    end = blocks.cumulative * (num_slots / blocks.total)
    slot = jnp.minimum(jnp.floor(end), num_slots - 1).astype(jnp.int32)
    is_passed = place_fn(slot) < end - slot.astype(end.dtype)
    num_passed = slot + is_passed.astype(jnp.int32)
    ends = jnp.zeros(num_slots + 1, jnp.float32)  # counts: exact, and quick to sum up
    ends = ends.at[num_passed].add(1.0, mode="promise_in_bounds")
    block = cumulative_sum(ends)[:num_slots].astype(jnp.int32)
    return jnp.minimum(block, blocks.cumulative.size - 1)


def point_of(
    blocks: Blocks,
    block: Int[Array, " draws"],
    position: Float[Array, " draws"],
    beyond: Float[Array, " draws"] | None = None,
) -> Int[Array, " draws"]:
    """The point of each position inside its block; never one without mass.

    `beyond` is what a position holds below its last digit. A draw that rounding put
    into a block without mass takes another draw's point.
    """
    before = take(blocks.cumulative, jnp.maximum(block - 1, 0))
    target = position - jnp.where(block > 0, before, 0)
    target = target if beyond is None else target + beyond
    running = [take(blocks.mass, block * blocks.size)]
    for offset in range(1, blocks.size):
        here = take(blocks.mass, block * blocks.size + offset)
        running.append(running[-1] + here)
    total = running[-1]
    target = jnp.where(target < total, target, target - total)  # beyond the end: around
    target = jnp.clip(target, 0, (1 - jnp.finfo(total.dtype).eps) * total)
    num_passed = sum((below <= target).astype(jnp.int32) for below in running[:-1])
    point = jnp.where(total > 0, block * blocks.size + num_passed, -1)
    return jnp.where(point < 0, jnp.max(point), point)


def take(table: Float[Array, " rows"], row: Int[Array, " any"]) -> Float[Array, " any"]:
    """Rows known to exist, without a check for each."""
    return table.at[row].get(mode="promise_in_bounds")
