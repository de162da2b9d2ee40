"""A U-Net that is told the time at which its output is asked."""

import itertools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key

from ..core import InputError, check_count, check_positive
from ._attention import (
    Attention,
    LinearAttention,
    build_attention,
    build_linear_attention,
)
from ._base import AbstractOperatorArchitecture
from ._convolution import (
    Convolution,
    ResidualBlock,
    build_convolution,
    build_residual_block,
    double,
    halve,
)
from ._draw import Draw, draw_all
from ._pointwise import Pointwise, build_pointwise
from ._shapes import Shape, check_call, check_shapes
from .activations import GELU, AbstractActivation, SiLU

Field = Float[Array, "_ _ _"]


class Level(eqx.Module):
    """Two residual blocks and attention on one grid, and a map to the next level."""

    blocks: tuple[ResidualBlock, ResidualBlock]
    attention: LinearAttention
    onward: Pointwise | Convolution


class TimeConditionedOperator(eqx.Module):
    """What `TimeConditionedUNet` builds."""

    time_maps: tuple[Pointwise, Pointwise]
    first: Convolution
    downs: list[Level]
    middle: tuple[ResidualBlock, Attention, ResidualBlock]
    ups: list[Level]
    last_block: ResidualBlock
    last: Pointwise
    activation: AbstractActivation
    frequencies: tuple[float, ...] = eqx.field(static=True)
    time_axis: int = eqx.field(static=True)
    num_channels: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __call__(
        self,
        function: Float[Array, "height width in_channels"],
        places: Float[Array, "height width dim"],
    ) -> Float[Array, "height width out_channels"]:
        """The values on the grid, at the one time that all places have."""
        check_call("function", function.shape, (None, None, self.num_channels))
        check_call("places", places.shape, (*function.shape[:2], self.dim))
        _check_halving("function", function.shape[:2], len(self.downs))
        time = self._embedded(_only_time(places[..., self.time_axis]))
        ahead, behind = places[..., : self.time_axis], places[..., self.time_axis + 1 :]
        begin = self.first(jnp.concatenate([function, ahead, behind], axis=-1))
        field, kept = self._down(begin, time)
        one, attention, two = self.middle
        field = two(attention(one(field, time, self.activation)), time, self.activation)
        joined = jnp.concatenate([self._up(field, kept, time), begin], axis=-1)
        return self.last(self.last_block(joined, time, self.activation))

    def _embedded(self, time: Float[Array, ""]) -> Float[Array, " times"]:
        """The time as waves, then a small network."""
        angles = time * jnp.asarray(self.frequencies, time.dtype)
        waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])
        wide, last = self.time_maps
        return last(GELU()(wide(waves)))

    def _down(
        self, field: Field, time: Float[Array, " times"]
    ) -> tuple[Field, list[Field]]:
        """To the coarsest grid; what each block gives is kept."""
        kept = []
        for level in self.downs:
            one = level.blocks[0](field, time, self.activation)
            two = level.attention(level.blocks[1](one, time, self.activation))
            kept += [one, two]
            is_last = level is self.downs[-1]
            field = level.onward(two if is_last else halve(two))
        return field, kept

    def _up(
        self, field: Field, kept: list[Field], time: Float[Array, " times"]
    ) -> Field:
        """Back to the finest grid; each block sees what was kept on its grid."""
        waiting = iter(reversed(kept))
        for level in self.ups:
            for block in level.blocks:
                joined = jnp.concatenate([field, next(waiting)], axis=-1)
                field = block(joined, time, self.activation)
            field = level.attention(field)
            is_last = level is self.ups[-1]
            field = level.onward(field if is_last else double(field))
        return field


class TimeConditionedUNet(AbstractOperatorArchitecture):
    """A U-Net of residual blocks and attention, as in diffusion models (Ho et al.,
    2020), from a function on a grid of two axes to its values at one later time.

    One coordinate of the places, number `time_axis`, is the time, the same on the whole
    grid; the others are channels of the input. The network sees `width` waves of the
    time, from `slowest` to `fastest` in radians: longer times need slower ones, and
    none should turn by more than pi between two times of the data. Each level has
    `width` channels times its multiplier, and half as many points as the one above.
    """

    width: int = 16
    multipliers: tuple[int, ...] = (1, 2, 4, 8)
    num_groups: int = 8
    num_heads: int = 4
    head_width: int = 32
    time_axis: int = 0
    slowest: float = 0.25
    fastest: float = 32.0
    activation: AbstractActivation = SiLU()

    def __check_init__(self):
        """Counts are positive, and channels can be grouped and paired."""
        check_count(
            width=self.width,
            multipliers=min(self.multipliers, default=0),
            num_groups=self.num_groups,
            num_heads=self.num_heads,
            head_width=self.head_width,
        )
        check_positive(slowest=self.slowest, fastest=self.fastest)
        if self.width % 2 or self.width % self.num_groups:
            raise InputError(
                "`width` must be a multiple of 2 and of `num_groups`, got "
                f"{self.width} and {self.num_groups}."
            )

    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> TimeConditionedOperator:
        """A model with random parameters, for any grid that can be halved often."""
        check_shapes(in_shape, out_shape, dim)
        self._check_fit(in_shape, out_shape, dim)
        num_channels, num_times = in_shape[-1], 4 * self.width
        rows = [self.width, *(self.width * times for times in self.multipliers)]
        steps = list(itertools.pairwise(rows))
        waves = np.geomspace(self.slowest, self.fastest, self.width // 2)

        def make(draw: Draw) -> TimeConditionedOperator:
            return TimeConditionedOperator(
                time_maps=(
                    build_pointwise(self.width, num_times, draw),
                    build_pointwise(num_times, num_times, draw),
                ),
                first=build_convolution(7, num_channels + dim - 1, self.width, draw),
                downs=[
                    self._down(*step, depth == len(steps), draw)
                    for depth, step in enumerate(steps, start=1)
                ],
                middle=self._middle(rows[-1], draw),
                ups=[self._up(*step, draw) for step in reversed(steps)],
                last_block=self._block(2 * self.width, self.width, draw),
                last=build_pointwise(self.width, out_shape[-1], draw),
                activation=self.activation,
                frequencies=tuple(waves.tolist()),
                time_axis=self.time_axis,
                num_channels=num_channels,
                dim=dim,
            )

        return draw_all(make, key=key, dtype=dtype)

    def _check_fit(self, in_shape: Shape, out_shape: Shape, dim: int) -> None:
        """Both grids are one that can be halved, and time is a coordinate."""
        if len(in_shape) != 3 or in_shape[:-1] != out_shape[:-1]:
            raise InputError(
                "`in_shape` and `out_shape` must have the same grid of two axes, got "
                f"{in_shape} and {out_shape}: give each time as a sample of its own."
            )
        _check_halving("in_shape", in_shape[:-1], len(self.multipliers))
        if not 0 <= self.time_axis < dim:
            raise InputError(
                f"`time_axis` must be one of the coordinates 0 to {dim - 1} of the "
                f"places, got {self.time_axis}."
            )

    def _block(self, num_inputs: int, num_outputs: int, draw: Draw) -> ResidualBlock:
        """A residual block with random parameters."""
        num_times = 4 * self.width
        return build_residual_block(
            num_inputs, num_outputs, num_times, self.num_groups, draw
        )

    def _down(self, inner: int, outer: int, is_last: bool, draw: Draw) -> Level:
        """A level with `inner` channels on the way to a coarser one with `outer`."""
        blocks = self._block(inner, inner, draw), self._block(inner, inner, draw)
        attention = build_linear_attention(inner, self.num_heads, self.head_width, draw)
        if is_last:
            return Level(blocks, attention, build_convolution(3, inner, outer, draw))
        return Level(blocks, attention, build_pointwise(4 * inner, outer, draw))

    def _middle(
        self, width: int, draw: Draw
    ) -> tuple[ResidualBlock, Attention, ResidualBlock]:
        """What happens on the coarsest grid."""
        attention = build_attention(width, self.num_heads, self.head_width, draw)
        blocks = self._block(width, width, draw), self._block(width, width, draw)
        return blocks[0], attention, blocks[1]

    def _up(self, inner: int, outer: int, draw: Draw) -> Level:
        """A level with `outer` channels on the way to a finer one with `inner`."""
        joined = outer + inner
        return Level(
            blocks=(self._block(joined, outer, draw), self._block(joined, outer, draw)),
            attention=build_linear_attention(
                outer, self.num_heads, self.head_width, draw
            ),
            onward=build_convolution(3, outer, inner, draw),
        )


def _only_time(times: Float[Array, "height width"]) -> Float[Array, ""]:
    """The time of a grid; where the values are known, an error if there are several."""
    if not isinstance(times, Tracer) and np.ptp(np.asarray(times)) > 0:
        raise InputError(
            "`places` have several times in one sample: the coordinate `time_axis` "
            "must be the same at all points; give each time as a sample of its own."
        )
    return times[0, 0]


def _check_halving(name: str, grid: Shape, num_levels: int) -> None:
    """Each level but the last halves the grid."""
    factor = 2 ** (num_levels - 1)
    if any(count % factor for count in grid):
        raise InputError(
            f"`{name}` has the grid {grid}, which must be divisible by {factor} along "
            f"both axes for {num_levels} levels: use another grid or fewer "
            "`multipliers`."
        )
