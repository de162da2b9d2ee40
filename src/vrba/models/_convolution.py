"""Parts of a U-Net: convolutions, and residual blocks told of the time."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._draw import Draw
from ._pointwise import Pointwise, build_pointwise
from .activations import AbstractActivation

Field = Float[Array, "height width channels"]
SMALL = 1e-5


class Convolution(eqx.Module):
    """A convolution of a field that is zero outside its grid."""

    weight: Float[Array, "rows columns inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, field: Field) -> Float[Array, "height width outputs"]:
        """The new channels, on the same grid: a product for each row of the window,
        whose columns stand side by side. XLA's own convolution is many times slower on
        a CPU in a compiled loop."""
        rows, columns, _, num_outputs = self.weight.shape
        height, width = field.shape[:2]
        margins = [((n - 1) // 2, n // 2) for n in (rows, columns)]
        padded = jnp.pad(field, [*margins, (0, 0)])
        beside = [padded[:, j : j + width] for j in range(columns)]
        wide = jnp.concatenate(beside, axis=-1)
        maps = self.weight.reshape(rows, -1, num_outputs)
        values = sum(wide[i : i + height] @ maps[i] for i in range(rows))
        return values + self.bias[None, None, :]


class GroupNorm(eqx.Module):
    """Groups of channels shifted and scaled to mean 0 and variance 1 over the grid."""

    gain: Float[Array, " channels"]
    bias: Float[Array, " channels"]
    num_groups: int = eqx.field(static=True)

    def __call__(self, field: Field) -> Field:
        """Channels with the deviation `gain` and the mean `bias`, by groups."""
        groups = field.reshape(*field.shape[:2], self.num_groups, -1)
        centred = groups - jnp.mean(groups, axis=(0, 1, 3), keepdims=True)
        variance = jnp.mean(centred * centred, axis=(0, 1, 3), keepdims=True)
        scaled = (centred * jax.lax.rsqrt(variance + SMALL)).reshape(field.shape)
        return scaled * self.gain[None, None, :] + self.bias[None, None, :]


class ResidualBlock(eqx.Module):
    """Two convolutions beside the field; between them the time scales and shifts each
    channel (FiLM, Perez et al., 2018)."""

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
        """The new channels, on the same grid."""
        scale, shift = jnp.split(self.film(activation(time)), 2)
        hidden = self.norms[0](self.convolutions[0](field))
        hidden = hidden * (1 + scale[None, None, :]) + shift[None, None, :]
        hidden = self.norms[1](self.convolutions[1](activation(hidden)))
        kept = field if self.shortcut is None else self.shortcut(field)
        return kept + activation(hidden)


def build_convolution(
    size: int, num_inputs: int, num_outputs: int, draw: Draw
) -> Convolution:
    """A window of `size` by `size` with weights as those of `build_pointwise`."""
    deviation = 1 / math.sqrt(3 * size**2 * num_inputs)
    weight = draw((size, size, num_inputs, num_outputs), deviation)
    return Convolution(weight, draw((num_outputs,), deviation))


def build_residual_block(
    num_inputs: int, num_outputs: int, num_times: int, num_groups: int, draw: Draw
) -> ResidualBlock:
    """Random parameters; the field is mapped only if its channels change."""
    is_same_description = num_inputs == num_outputs
    return ResidualBlock(
        convolutions=(
            build_convolution(3, num_inputs, num_outputs, draw),
            build_convolution(3, num_outputs, num_outputs, draw),
        ),
        norms=(
            _build_norm(num_outputs, num_groups, draw),
            _build_norm(num_outputs, num_groups, draw),
        ),
        film=build_pointwise(num_times, 2 * num_outputs, draw),
        shortcut=None
        if is_same_description
        else build_pointwise(num_inputs, num_outputs, draw),
    )


def _build_norm(num_channels: int, num_groups: int, draw: Draw) -> GroupNorm:
    shape = (num_channels,)
    return GroupNorm(draw(shape, 0.0, 1.0), draw(shape, 0.0), num_groups)


def halve(field: Field) -> Float[Array, "half_height half_width four_channels"]:
    """Half as many points along each axis, with the channels of four."""
    height, width, channels = field.shape
    blocks = field.reshape(height // 2, 2, width // 2, 2, channels)
    blocks = jnp.moveaxis(blocks, 2, 1)
    return blocks.reshape(height // 2, width // 2, 4 * channels)


def double(field: Field) -> Float[Array, "two_heights two_widths channels"]:
    """Each point four times."""
    return jnp.repeat(jnp.repeat(field, 2, axis=0), 2, axis=1)
