"""Every point of a field looks at all others."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._draw import Draw
from ._pointwise import Pointwise, build_pointwise

Field = Float[Array, "height width channels"]
SMALL = 1e-5


class ChannelNorm(eqx.Module):
    """The channels of each point divided by their root mean square, times a gain."""

    gain: Float[Array, " channels"]

    def __call__(self, field: Field) -> Field:
        """Channels of the size of the gain."""
        square = jnp.mean(field * field, axis=-1, keepdims=True)
        return field * jax.lax.rsqrt(square + SMALL) * self.gain[None, None, :]


class Heads(eqx.Module):
    """Queries, keys and values of several heads, and the way back to channels."""

    queries: Pointwise
    keys: Pointwise
    values: Pointwise
    output: Pointwise
    num_heads: int = eqx.field(static=True)

    def split(
        self, channels: Float[Array, "points all_channels"]
    ) -> Float[Array, "points heads head_channels"]:
        """The channels by head."""
        return channels.reshape(len(channels), self.num_heads, -1)


class Attention(eqx.Module):
    """Softmax attention between all points, beside the field itself."""

    norm: ChannelNorm
    heads: Heads

    def __call__(self, field: Field) -> Field:
        """The field plus what each point takes from others."""
        points = self.norm(field).reshape(-1, field.shape[-1])
        maps = (self.heads.queries, self.heads.keys, self.heads.values)
        queries, keys, values = [self.heads.split(each(points)) for each in maps]
        scores = jnp.einsum("ihd,jhd->hij", queries, keys)
        scores = scores / math.sqrt(queries.shape[-1])
        taken = jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores, axis=-1), values)
        return field + self.heads.output(taken.reshape(*field.shape[:2], -1))


class LinearAttention(eqx.Module):
    """Attention whose cost grows with the number of points, not with its square: values
    are averaged over all points first (Shen et al., 2021).

    Averages commute with linear maps. So it is the few channels that are averaged, and
    the maps to values and back act on the averages, never on all points.
    """

    norm: ChannelNorm
    heads: Heads
    last_norm: ChannelNorm

    def __call__(self, field: Field) -> Field:
        """The field plus what each point takes from the averages."""
        points = self.norm(field).reshape(-1, field.shape[-1])
        keys = self.heads.keys(points)
        shares = jnp.exp(keys - jax.lax.stop_gradient(jnp.max(keys, axis=0))[None, :])
        averages = (shares.T @ points) / jnp.sum(shares, axis=0)[:, None]
        queries = self.heads.split(self.heads.queries(points))
        queries = jax.nn.softmax(queries, axis=-1) / math.sqrt(queries.shape[-1])
        fetch = Pointwise(self._fetched(averages), self.heads.output.bias)
        return field + self.last_norm(fetch(queries.reshape(*field.shape[:2], -1)))

    def _fetched(
        self, averages: Float[Array, "all_channels channels"]
    ) -> Float[Array, "all_channels channels"]:
        """What each channel of a query fetches, in channels of the field."""
        num_all, num_heads = len(averages), self.heads.num_heads
        values = self.heads.split(self.heads.values.weight)
        output = self.heads.output.weight.reshape(num_heads, -1, averages.shape[1])
        by_head = averages.reshape(num_heads, -1, averages.shape[1])
        fetched = jnp.einsum("hdc,che,heo->hdo", by_head, values, output)
        return fetched.reshape(num_all, -1)


def build_attention(
    width: int, num_heads: int, head_width: int, draw: Draw
) -> Attention:
    """Random parameters."""
    heads = _build_heads(width, num_heads, head_width, draw)
    return Attention(_build_norm(width, draw), heads)


def build_linear_attention(
    width: int, num_heads: int, head_width: int, draw: Draw
) -> LinearAttention:
    """Random parameters."""
    heads = _build_heads(width, num_heads, head_width, draw)
    return LinearAttention(_build_norm(width, draw), heads, _build_norm(width, draw))


def _build_heads(width: int, num_heads: int, head_width: int, draw: Draw) -> Heads:
    inner = num_heads * head_width
    queries, keys, values = [
        build_pointwise(width, inner, draw, has_bias=False) for _ in range(3)
    ]
    output = build_pointwise(inner, width, draw)
    return Heads(queries, keys, values, output, num_heads)


def _build_norm(width: int, draw: Draw) -> ChannelNorm:
    return ChannelNorm(draw((width,), 0.0, 1.0))
