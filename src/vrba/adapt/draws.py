"""Draws: from probabilities to point ids.

Most draws turn positions in `[0, total mass)` into points. Only the masses of blocks
are summed; inside its block a position is found by a short walk. In float32 this also
keeps the resolution that a sum over ten million points would lose.
"""

import abc
import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32
from typing_extensions import override

from ..core import InputError

_PLASTIC_STEPS = (3242174889, 2447445413)  # 2**32 / p, 2**32 / p**2 with p**3 = p + 1
_ONE_WORD = 2**16  # up to so many points, 32 random bits for each suffice


class AbstractDraw(eqx.Module):
    """A way to draw `n` point ids with probabilities `q`."""

    @abc.abstractmethod
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        """Draw ids in proportion to `mass`, which need not sum to one."""

    @abc.abstractmethod
    def is_proportional(self) -> bool:
        """Whether the expected count of every point is exactly `n q_i`."""


class Stratified(AbstractDraw):
    """One draw from each of `n` equal slots of the cumulative probability.

    Counts deviate far less from `n q_i` than with independent draws. The places inside
    the slots follow a low-discrepancy sequence from a random start. Unlike
    `Systematic`, this does not resonate with a pool in Sobol or grid order. Ids come in
    the order of the pool: shuffle them before splitting one draw into batches.
    """

    @override
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        start = jax.random.bits(key, (2,), jnp.uint32)
        place_fn, digits_fn = (
            functools.partial(low_discrepancy, start[i], step=step, dtype=mass.dtype)
            for i, step in enumerate(_PLASTIC_STEPS)
        )
        blocks = make_blocks(mass)
        block = block_of_slots(blocks, num_points, place_fn)
        slot = jnp.arange(num_points, dtype=jnp.int32)
        position = slot.astype(mass.dtype) + place_fn(slot)
        unit = blocks.total / num_points
        rounding = jnp.finfo(mass.dtype).eps * blocks.total
        return point_of(blocks, block, position * unit, digits_fn(slot) * rounding)

    @override
    def is_proportional(self) -> bool:
        return True


def low_discrepancy(
    start: UInt32[Array, ""], index: Int[Array, " any"], step: int, dtype: jnp.dtype
) -> Float[Array, " any"]:
    """`start + index * step` modulo `2**32`, scaled to `[0, 1)`."""
    bits = start + index.astype(jnp.uint32) * jnp.uint32(step)
    digits = min(32, jnp.finfo(dtype).nmant)  # so no number rounds to one
    return (bits >> (32 - digits)).astype(dtype) * 2.0**-digits


class Systematic(AbstractDraw):
    """Positions `(j + u) / n` with one random `u`.

    Point `i` is drawn `floor(n q_i)` or `ceil(n q_i)` times: the least noise in the
    counts. Shuffle the pool first: from a pool in Sobol order the fixed stride picks
    points that share their leading digits. In float32 beyond a million points,
    `Stratified` is more accurate. Ids come in the order of the pool.
    """

    @override
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        blocks = make_blocks(mass)
        start = jax.random.uniform(key, (), mass.dtype)
        block = block_of_slots(
            blocks, num_points, lambda slot: jnp.broadcast_to(start, slot.shape)
        )
        position = jnp.arange(num_points, dtype=mass.dtype) + start
        return point_of(blocks, block, position * (blocks.total / num_points))

    @override
    def is_proportional(self) -> bool:
        return True


class WithReplacement(AbstractDraw):
    """Independent draws: simple, but with the most noise in the counts."""

    @override
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        blocks = make_blocks(mass)
        position = jax.random.uniform(key, (num_points,), mass.dtype) * blocks.total
        block = block_of(blocks, position)
        rounding = jnp.finfo(mass.dtype).eps * blocks.total
        more = jax.random.uniform(jax.random.fold_in(key, 1), (num_points,), mass.dtype)
        return point_of(blocks, block, position, more * rounding)

    @override
    def is_proportional(self) -> bool:
        return True


class WithoutReplacement(AbstractDraw):
    """Successive draws from the remaining points: no point is drawn twice.

    Points of large mass are drawn less often than `n q_i`, which is unavoidable once
    `n q_i > 1`. The draw takes the points with the largest `mass / E`, with `E`
    exponentially distributed. (Efraimidis and Spirakis 2006)
    """

    @override
    def ids(
        self, mass: Float[Array, " points"], num_points: int, *, key: Key[Array, ""]
    ) -> Int[Array, " {num_points}"]:
        if num_points > mass.size:
            raise InputError(
                f"`num_points={num_points}` exceeds the {mass.size} points that can be "
                "drawn without replacement. Draw fewer, or use `Stratified()`."
            )
        # in float32: selecting is faster, and the digits suffice
        share = (mass / jnp.max(mass)).astype(jnp.float32)
        time = exponential(mass.size, key=key)
        return jax.lax.top_k(share / time, num_points)[1].astype(jnp.int32)

    @override
    def is_proportional(self) -> bool:
        return False


def exponential(num_points: int, *, key: Key[Array, ""]) -> Float[Array, " points"]:
    """Exponential numbers `-log(1 - u)`, accurate near zero.

    `u` has 32 random bits, or 64 for so many points that the smallest numbers would
    coincide.
    """
    num_words = 1 if num_points <= _ONE_WORD else 2
    words = jax.random.bits(key, (num_words, num_points), jnp.uint32)
    below = jnp.asarray(0.5, jnp.float32)
    if num_words == 2:
        below = (words[1].astype(jnp.float32) + below) * 2.0**-32
    uniform = (words[0].astype(jnp.float32) + below) * 2.0**-32
    largest = 1 - jnp.finfo(jnp.float32).epsneg
    return -jnp.log1p(-jnp.minimum(uniform, largest))


class _Blocks(eqx.Module):
    """Masses of points, padded to blocks of `size`, and cumulative block masses."""

    mass: Float[Array, " padded_points"]
    cumulative: Float[Array, " blocks"]
    size: int = eqx.field(static=True)

    @property
    def total(self) -> Float[Array, ""]:
        """The mass of all points."""
        return self.cumulative[-1]


def make_blocks(mass: Float[Array, " points"]) -> _Blocks:
    """Form blocks of 8 points, of more above a million points."""
    num_halvings = max(3, (mass.size - 1).bit_length() - 17)
    size = 2**num_halvings
    num_blocks = -(-mass.size // size)
    padded = jnp.pad(mass, (0, num_blocks * size - mass.size))
    block_mass = padded
    for _ in range(num_halvings):  # in pairs: a CPU sums short rows slowly
        pairs = block_mass.reshape(-1, 2)
        block_mass = pairs[:, 0] + pairs[:, 1]
    return _Blocks(padded, cumulative_sum(block_mass), size)


def cumulative_sum(x: Float[Array, " rows"], width: int = 32) -> Float[Array, " rows"]:
    """Running sums by products with a triangular matrix: the fastest way on a CPU."""
    num_rows = -(-x.size // width)
    rows = jnp.pad(x, (0, num_rows * width - x.size)).reshape(num_rows, width)
    triangle = jnp.triu(jnp.ones((width, width), x.dtype))
    within = jnp.matmul(rows, triangle, precision=jax.lax.Precision.HIGHEST)
    if num_rows == 1:
        return within[0, : x.size]
    before = jnp.pad(cumulative_sum(within[:, -1], width)[:-1], (1, 0))
    return (within + before[:, None]).reshape(-1)[: x.size]


def block_of(blocks: _Blocks, position: Float[Array, " draws"]) -> Int[Array, " draws"]:
    """Find the block of each position by binary search."""
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
    blocks: _Blocks,
    num_slots: int,
    place_fn: Callable[[Int[Array, " any"]], Float[Array, " any"]],
) -> Int[Array, " {num_slots}"]:
    """The block of each position `(j + place_fn(j)) total / n`, for every slot `j`.

    Sorted positions need no search. A block that ends at `x` slots ends after
    `floor(x)` positions, and after one more if the place in that slot is below the
    fraction. Counting the ends up to each slot gives its block.
    """
    end = blocks.cumulative * (num_slots / blocks.total)
    slot = jnp.minimum(jnp.floor(end), num_slots - 1).astype(jnp.int32)
    is_passed = place_fn(slot) < end - slot.astype(end.dtype)
    num_passed = slot + is_passed.astype(jnp.int32)
    ends = jnp.zeros(num_slots + 1, jnp.float32)  # exact for counts
    ends = ends.at[num_passed].add(1.0, mode="promise_in_bounds")
    block = cumulative_sum(ends)[:num_slots].astype(jnp.int32)
    return jnp.minimum(block, blocks.cumulative.size - 1)


def point_of(
    blocks: _Blocks,
    block: Int[Array, " draws"],
    position: Float[Array, " draws"],
    beyond: Float[Array, " draws"] | None = None,
) -> Int[Array, " draws"]:
    """The point of each position inside its block; never a point of mass zero.

    `beyond` adds digits below the last digit of a position. If rounding puts a draw
    into a block of mass zero, it takes another draw's point.
    """
    before = take(blocks.cumulative, jnp.maximum(block - 1, 0))
    target = position - jnp.where(block > 0, before, 0)
    target = target if beyond is None else target + beyond
    running = [take(blocks.mass, block * blocks.size)]
    for offset in range(1, blocks.size):
        here = take(blocks.mass, block * blocks.size + offset)
        running.append(running[-1] + here)
    total = running[-1]
    target = jnp.where(target < total, target, target - total)  # beyond the end: wrap
    target = jnp.clip(target, 0, (1 - jnp.finfo(total.dtype).eps) * total)
    num_passed = sum((below <= target).astype(jnp.int32) for below in running[:-1])
    point = jnp.where(total > 0, block * blocks.size + num_passed, -1)
    return jnp.where(point < 0, jnp.max(point), point)


def take(table: Float[Array, " rows"], row: Int[Array, " any"]) -> Float[Array, " any"]:
    """The given rows, without bounds checks."""
    return table.at[row].get(mode="promise_in_bounds")
