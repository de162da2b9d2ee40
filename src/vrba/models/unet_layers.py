"""Layers of a U-Net: convolutions, residual blocks, attention, changes of the grid."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._layers import Draw, Pointwise, build_pointwise
from .activations import AbstractActivation

Field = Float[Array, "height width channels"]
_EPSILON = 1e-5


class Convolution(eqx.Module):
    """A convolution with zero padding that keeps the grid."""

    weight: Float[Array, "rows columns inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, field: Field) -> Float[Array, "height width outputs"]:
        """Sum one matrix product for each row of the window.

        The columns of a row are concatenated as channels. XLA's own convolution is many
        times slower on a CPU inside a compiled loop.
        """
        rows, columns, _, num_outputs = self.weight.shape
        height, width = field.shape[:2]
        margins = [((n - 1) // 2, n // 2) for n in (rows, columns)]
        padded = jnp.pad(field, [*margins, (0, 0)])
        shifted = [padded[:, j : j + width] for j in range(columns)]
        wide = jnp.concatenate(shifted, axis=-1)
        maps = self.weight.reshape(rows, -1, num_outputs)
        values = sum(wide[i : i + height] @ maps[i] for i in range(rows))
        return values + self.bias[None, None, :]


class GroupNorm(eqx.Module):
    """Group normalisation: each group of channels gets mean 0 and variance 1 over the
    grid, then each channel its gain and bias (Wu and He, 2018)."""

    gain: Float[Array, " channels"]
    bias: Float[Array, " channels"]
    num_groups: int = eqx.field(static=True)

    def __call__(self, field: Field) -> Field:
        """Return the normalised channels."""
        groups = field.reshape(*field.shape[:2], self.num_groups, -1)
        centred = groups - jnp.mean(groups, axis=(0, 1, 3), keepdims=True)
        variance = jnp.mean(centred * centred, axis=(0, 1, 3), keepdims=True)
        scaled = (centred * jax.lax.rsqrt(variance + _EPSILON)).reshape(field.shape)
        return scaled * self.gain[None, None, :] + self.bias[None, None, :]


class ResidualBlock(eqx.Module):
    """Two convolutions with a residual connection; the time embedding scales and shifts
    each channel between them (FiLM, Perez et al., 2018)."""

    convolutions: tuple[Convolution, Convolution]
    norms: tuple[GroupNorm, GroupNorm]
    film: Pointwise
    shortcut: Pointwise | None

    def __call__(
        self,
        field: Field,
        time: Float[Array, " times"],
        activation: AbstractActivation,
    ) -> Float[Array, "height width outputs"]:
        """Return the new channels on the same grid."""
        scale, shift = jnp.split(self.film(activation(time)), 2)
        hidden = self.norms[0](self.convolutions[0](field))
        hidden = hidden * (1 + scale[None, None, :]) + shift[None, None, :]
        hidden = self.norms[1](self.convolutions[1](activation(hidden)))
        skipped = field if self.shortcut is None else self.shortcut(field)
        return skipped + activation(hidden)


class RMSNorm(eqx.Module):
    """The channels of each point divided by their root mean square, times a gain."""

    gain: Float[Array, " channels"]

    def __call__(self, field: Field) -> Field:
        """Return the normalised channels."""
        square = jnp.mean(field * field, axis=-1, keepdims=True)
        return field * jax.lax.rsqrt(square + _EPSILON) * self.gain[None, None, :]


class AttentionHeads(eqx.Module):
    """The projections to queries, keys and values of all heads, and the output map."""

    queries: Pointwise
    keys: Pointwise
    values: Pointwise
    output: Pointwise
    num_heads: int = eqx.field(static=True)

    def split(
        self, channels: Float[Array, "points all_channels"]
    ) -> Float[Array, "points heads head_channels"]:
        """Split the channels by head."""
        return channels.reshape(len(channels), self.num_heads, -1)


class Attention(eqx.Module):
    """Softmax attention between all points, with a residual connection."""

    norm: RMSNorm
    heads: AttentionHeads

    def __call__(self, field: Field) -> Field:
        """Return the field plus the attention output."""
        points = self.norm(field).reshape(-1, field.shape[-1])
        maps = (self.heads.queries, self.heads.keys, self.heads.values)
        queries, keys, values = [self.heads.split(each(points)) for each in maps]
        scores = jnp.einsum("ihd,jhd->hij", queries, keys)
        scores = scores / math.sqrt(queries.shape[-1])
        mixed = jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores, axis=-1), values)
        return field + self.heads.output(mixed.reshape(*field.shape[:2], -1))


class LinearAttention(eqx.Module):
    """Attention with a cost linear in the number of points (Shen et al., 2021).

    It first averages the values over all points. Averages commute with linear maps: so
    it averages the few channels of the field, and applies the projection to values and
    the output map to these averages.
    """

    norm: RMSNorm
    heads: AttentionHeads
    last_norm: RMSNorm

    def __call__(self, field: Field) -> Field:
        """Return the field plus the attention output."""
        points = self.norm(field).reshape(-1, field.shape[-1])
        keys = self.heads.keys(points)
        weights = jnp.exp(keys - jax.lax.stop_gradient(jnp.max(keys, axis=0))[None, :])
        averages = (weights.T @ points) / jnp.sum(weights, axis=0)[:, None]
        queries = self.heads.split(self.heads.queries(points))
        queries = jax.nn.softmax(queries, axis=-1) / math.sqrt(queries.shape[-1])
        combined = Pointwise(self._combined_map(averages), self.heads.output.bias)
        return field + self.last_norm(combined(queries.reshape(*field.shape[:2], -1)))

    def _combined_map(
        self, averages: Float[Array, "all_channels channels"]
    ) -> Float[Array, "all_channels channels"]:
        """Return the linear map from query channels to channels of the field."""
        num_all, num_heads = len(averages), self.heads.num_heads
        values = self.heads.split(self.heads.values.weight)
        output = self.heads.output.weight.reshape(num_heads, -1, averages.shape[1])
        by_head = averages.reshape(num_heads, -1, averages.shape[1])
        combined = jnp.einsum("hdc,che,heo->hdo", by_head, values, output)
        return combined.reshape(num_all, -1)


def space_to_depth(
    field: Field,
) -> Float[Array, "half_height half_width four_channels"]:
    """Halve the grid along each axis, and stack the channels of each 2 by 2 block."""
    height, width, channels = field.shape
    blocks = field.reshape(height // 2, 2, width // 2, 2, channels)
    blocks = jnp.moveaxis(blocks, 2, 1)
    return blocks.reshape(height // 2, width // 2, 4 * channels)


def upsample(field: Field) -> Float[Array, "two_heights two_widths channels"]:
    """Double the grid along each axis by repeating points."""
    return jnp.repeat(jnp.repeat(field, 2, axis=0), 2, axis=1)


def build_convolution(
    size: int, num_inputs: int, num_outputs: int, draw: Draw
) -> Convolution:
    """Draw a window of `size` by `size`, scaled like `build_pointwise`."""
    deviation = 1 / math.sqrt(3 * size**2 * num_inputs)
    weight = draw((size, size, num_inputs, num_outputs), deviation)
    return Convolution(weight, draw((num_outputs,), deviation))


def build_residual_block(
    num_inputs: int, num_outputs: int, num_times: int, num_groups: int, draw: Draw
) -> ResidualBlock:
    """Draw a block; its shortcut is the identity unless the channels change."""
    is_same_description = num_inputs == num_outputs
    return ResidualBlock(
        convolutions=(
            build_convolution(3, num_inputs, num_outputs, draw),
            build_convolution(3, num_outputs, num_outputs, draw),
        ),
        norms=(
            _build_group_norm(num_outputs, num_groups, draw),
            _build_group_norm(num_outputs, num_groups, draw),
        ),
        film=build_pointwise(num_times, 2 * num_outputs, draw),
        shortcut=None
        if is_same_description
        else build_pointwise(num_inputs, num_outputs, draw),
    )


def build_attention(
    width: int, num_heads: int, head_width: int, draw: Draw
) -> Attention:
    """Draw attention between points with `width` channels."""
    heads = _build_heads(width, num_heads, head_width, draw)
    return Attention(_build_rms_norm(width, draw), heads)


def build_linear_attention(
    width: int, num_heads: int, head_width: int, draw: Draw
) -> LinearAttention:
    """Draw linear attention between points with `width` channels."""
    heads = _build_heads(width, num_heads, head_width, draw)
    norms = _build_rms_norm(width, draw), _build_rms_norm(width, draw)
    return LinearAttention(norms[0], heads, norms[1])


def _build_group_norm(num_channels: int, num_groups: int, draw: Draw) -> GroupNorm:
    shape = (num_channels,)
    return GroupNorm(draw(shape, 0.0, 1.0), draw(shape, 0.0), num_groups)


def _build_rms_norm(width: int, draw: Draw) -> RMSNorm:
    return RMSNorm(draw((width,), 0.0, 1.0))


def _build_heads(
    width: int, num_heads: int, head_width: int, draw: Draw
) -> AttentionHeads:
    inner = num_heads * head_width
    queries, keys, values = [
        build_pointwise(width, inner, draw, has_bias=False) for _ in range(3)
    ]
    output = build_pointwise(inner, width, draw)
    return AttentionHeads(queries, keys, values, output, num_heads)
