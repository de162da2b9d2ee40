"""A U-Net with the time of its output as an input."""

import itertools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import InputError, check_count, check_positive
from ._base import AbstractOperatorArchitecture
from ._layers import (
    Draw,
    Pointwise,
    PointwiseNetwork,
    Shape,
    build_pointwise,
    build_pointwise_network,
    check_argument,
    check_shapes,
    draw_parameters,
)
from .activations import GELU, AbstractActivation, SiLU
from .unet_layers import (
    Attention,
    Convolution,
    LinearAttention,
    ResidualBlock,
    build_attention,
    build_convolution,
    build_linear_attention,
    build_residual_block,
    space_to_depth,
    upsample,
)

Field = Float[Array, "_ _ _"]


class Level(eqx.Module):
    """Two residual blocks and attention on one grid, and a map to the next level."""

    blocks: tuple[ResidualBlock, ResidualBlock]
    attention: LinearAttention
    next_level: Pointwise | Convolution

    def coarsen(self, field: Field) -> Field:
        """Map a field to the next level, with half as many points along each axis."""
        return self.next_level(space_to_depth(field))

    def refine(self, field: Field) -> Field:
        """Map a field to the next level, with twice as many points along each axis."""
        return self.next_level(upsample(field))


class TimeConditionedOperator(eqx.Module):
    """The model of `TimeConditionedUNet`."""

    time_network: PointwiseNetwork
    first: Convolution
    down_levels: list[Level]
    middle: tuple[ResidualBlock, Attention, ResidualBlock]
    up_levels: list[Level]
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
        """Return the values on the grid, at the one time that all places share."""
        check_argument("function", function.shape, (None, None, self.num_channels))
        check_argument("places", places.shape, (*function.shape[:2], self.dim))
        _check_halving("function", function.shape[:2], len(self.down_levels))
        time = self._embed_time(_shared_time(places[..., self.time_axis]))
        ahead, behind = places[..., : self.time_axis], places[..., self.time_axis + 1 :]
        begin = self.first(jnp.concatenate([function, ahead, behind], axis=-1))
        field, skipped = self._go_down(begin, time)
        one, attention, two = self.middle
        field = two(attention(one(field, time, self.activation)), time, self.activation)
        joined = jnp.concatenate([self._go_up(field, skipped, time), begin], axis=-1)
        return self.last(self.last_block(joined, time, self.activation))

    def _embed_time(self, time: Float[Array, ""]) -> Float[Array, " times"]:
        """Return Fourier features of the time, mapped by a small network."""
        angles = time * jnp.asarray(self.frequencies, time.dtype)
        features = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])
        return self.time_network(features, GELU())

    def _go_down(
        self, field: Field, time: Float[Array, " times"]
    ) -> tuple[Field, list[Field]]:
        """Return the field on the coarsest grid, and those for skip connections."""
        skipped = []
        for level in self.down_levels:
            one = level.blocks[0](field, time, self.activation)
            two = level.attention(level.blocks[1](one, time, self.activation))
            skipped += [one, two]
            is_last = level is self.down_levels[-1]
            field = level.next_level(two) if is_last else level.coarsen(two)
        return field, skipped

    def _go_up(
        self, field: Field, skipped: list[Field], time: Float[Array, " times"]
    ) -> Field:
        """Return the field on the finest grid; skip connections come last in first."""
        remaining = iter(reversed(skipped))
        for level in self.up_levels:
            for block in level.blocks:
                joined = jnp.concatenate([field, next(remaining)], axis=-1)
                field = block(joined, time, self.activation)
            field = level.attention(field)
            is_last = level is self.up_levels[-1]
            field = level.next_level(field) if is_last else level.refine(field)
        return field


class TimeConditionedUNet(AbstractOperatorArchitecture):
    """A U-Net of residual blocks and attention, as in diffusion models (Ho et al.,
    2020), from a function on a grid of two axes to its values at one later time.

    The coordinate number `time_axis` of the places is the time, equal on the whole
    grid; the others are input channels. The time enters by `width` Fourier features,
    with angular frequencies from `slowest` to `fastest`. Longer times need slower ones;
    the fastest should turn by at most pi between two times of the data. Each level has
    `width` channels times its multiplier, and half as many points along each axis as
    the level before.
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

    @override
    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> TimeConditionedOperator:
        """Build a model with random parameters.

        The shapes fix the channels; the grid may be any that the levels can halve.
        """
        check_shapes(in_shape, out_shape, dim)
        self._check_fit(in_shape, out_shape, dim)
        num_channels, num_times = in_shape[-1], 4 * self.width
        widths = [self.width, *(self.width * factor for factor in self.multipliers)]
        steps = list(itertools.pairwise(widths))
        frequencies = np.geomspace(self.slowest, self.fastest, self.width // 2)

        def make(draw: Draw) -> TimeConditionedOperator:
            return TimeConditionedOperator(
                time_network=build_pointwise_network(
                    self.width, num_times, num_times, draw
                ),
                first=build_convolution(7, num_channels + dim - 1, self.width, draw),
                down_levels=[
                    self._down_level(*step, depth == len(steps), draw)
                    for depth, step in enumerate(steps, start=1)
                ],
                middle=self._middle(widths[-1], draw),
                up_levels=[self._up_level(*step, draw) for step in reversed(steps)],
                last_block=self._block(2 * self.width, self.width, draw),
                last=build_pointwise(self.width, out_shape[-1], draw),
                activation=self.activation,
                frequencies=tuple(frequencies.tolist()),
                time_axis=self.time_axis,
                num_channels=num_channels,
                dim=dim,
            )

        return draw_parameters(make, key=key, dtype=dtype)

    def _check_fit(self, in_shape: Shape, out_shape: Shape, dim: int) -> None:
        """Raise unless both grids are equal and can be halved, and time exists."""
        if len(in_shape) != 3 or in_shape[:-1] != out_shape[:-1]:
            raise InputError(
                "`in_shape` and `out_shape` must have the same grid of two axes, got "
                f"{in_shape} and {out_shape}: make each time a separate sample."
            )
        _check_halving("in_shape", in_shape[:-1], len(self.multipliers))
        if not 0 <= self.time_axis < dim:
            raise InputError(
                f"`time_axis` must be one of the coordinates 0 to {dim - 1} of the "
                f"places, got {self.time_axis}."
            )

    def _block(self, num_inputs: int, num_outputs: int, draw: Draw) -> ResidualBlock:
        """Draw a residual block."""
        num_times = 4 * self.width
        return build_residual_block(
            num_inputs, num_outputs, num_times, self.num_groups, draw
        )

    def _down_level(self, inner: int, outer: int, is_last: bool, draw: Draw) -> Level:
        """Draw a level with `inner` channels before a coarser one with `outer`."""
        blocks = self._block(inner, inner, draw), self._block(inner, inner, draw)
        attention = build_linear_attention(inner, self.num_heads, self.head_width, draw)
        if is_last:
            return Level(blocks, attention, build_convolution(3, inner, outer, draw))
        return Level(blocks, attention, build_pointwise(4 * inner, outer, draw))

    def _middle(
        self, width: int, draw: Draw
    ) -> tuple[ResidualBlock, Attention, ResidualBlock]:
        """Draw the layers on the coarsest grid."""
        attention = build_attention(width, self.num_heads, self.head_width, draw)
        blocks = self._block(width, width, draw), self._block(width, width, draw)
        return blocks[0], attention, blocks[1]

    def _up_level(self, inner: int, outer: int, draw: Draw) -> Level:
        """Draw a level with `outer` channels before a finer one with `inner`."""
        joined = outer + inner
        return Level(
            blocks=(self._block(joined, outer, draw), self._block(joined, outer, draw)),
            attention=build_linear_attention(
                outer, self.num_heads, self.head_width, draw
            ),
            next_level=build_convolution(3, outer, inner, draw),
        )


def _shared_time(times: Float[Array, "height width"]) -> Float[Array, ""]:
    """Return the time of a grid; raise if concrete times differ."""
    if not isinstance(times, Tracer) and np.ptp(np.asarray(times)) > 0:
        raise InputError(
            "`places` have several times in one sample: the coordinate `time_axis` "
            "must be the same at all points. Make each time a separate sample."
        )
    return times[0, 0]


def _check_halving(name: str, grid: Shape, num_levels: int) -> None:
    """Raise unless the grid can be halved at each level but the last."""
    factor = 2 ** (num_levels - 1)
    if any(count % factor for count in grid):
        raise InputError(
            f"`{name}` has the grid {grid}, which must be divisible by {factor} along "
            f"both axes for {num_levels} levels: use another grid or fewer "
            "`multipliers`."
        )
