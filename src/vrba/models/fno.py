"""The Fourier neural operator on a regular grid."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import InputError, check_count
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
from ._spectrum import field_from_coefficients, fourier_coefficients, spectrum_shape
from .activations import GELU, AbstractActivation
from .kernels import AbstractBuiltKernel, AbstractKernel, DenseKernel

Field = Float[Array, "*grid channels"]


class FourierBlock(eqx.Module):
    """A spectral convolution plus a linear map, then a pointwise network with a gated
    skip connection."""

    kernel: AbstractBuiltKernel
    bias: Float[Array, " channels"]
    linear: Pointwise
    mix: PointwiseNetwork
    gate: Float[Array, " channels"]

    def __call__(
        self,
        field: Field,
        modes: tuple[int, ...],
        activation: AbstractActivation,
        is_last: bool,
    ) -> Field:
        """Apply the layer; the last layer has no outer activation."""
        act = (lambda x: x) if is_last else activation
        last_axis = (None,) * (field.ndim - 1)
        convolved = self.convolve(field, modes) + self.bias[*last_axis, :]
        hidden = act(convolved + self.linear(field))
        mixed = self.mix(hidden, activation)
        return act(mixed + self.gate[*last_axis, :] * field)

    def convolve(self, field: Field, modes: tuple[int, ...]) -> Field:
        """Apply the kernel to the low frequencies, and drop all others."""
        spectrum = self.kernel(fourier_coefficients(field, modes))
        return field_from_coefficients(spectrum, field.shape[:-1], modes)


class FourierOperator(eqx.Module):
    """The model of `FNO`. Its grid may be finer than that of the training data."""

    lifting: PointwiseNetwork
    blocks: list[FourierBlock]
    projection: PointwiseNetwork
    activation: AbstractActivation
    modes: tuple[int, ...] = eqx.field(static=True)
    num_channels: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)
    has_coordinates: bool = eqx.field(static=True)
    has_grid: bool = eqx.field(static=True)

    def __call__(
        self,
        function: Float[Array, "*in_grid in_channels"],
        places: Float[Array, "*out_grid dim"],
    ) -> Float[Array, "*out_grid out_channels"]:
        """Return the values on the grid of the places."""
        in_axes, out_axes = [None] * (function.ndim - 1), [None] * len(self.modes)
        check_argument("function", function.shape, (*in_axes, self.num_channels))
        check_argument("places", places.shape, (*out_axes, self.dim))
        grid = places.shape[:-1]
        _check_grids("function", function.shape[:-1], grid)
        _check_modes(self.modes, grid)
        field = self._lift(function, places)
        *blocks, last_block = self.blocks
        for block in blocks:
            field = block(field, self.modes, self.activation, is_last=False)
        field = last_block(field, self.modes, self.activation, is_last=True)
        return self.projection(field, self.activation)

    def _lift(
        self,
        function: Float[Array, "*in_grid in_channels"],
        places: Float[Array, "*out_grid dim"],
    ) -> Field:
        """Return the channels of the first layer.

        The first product is split: the part of the places is shared by all functions,
        and the part of a function is computed before repeating along missing axes.
        """
        first = self.lifting.hidden
        shared = [places] * self.has_coordinates
        shared += [_grid_channels(places.shape[:-1], places.dtype)] * self.has_grid
        split = self.num_channels
        missing_axes = tuple(range(function.ndim - 1, places.ndim - 1))
        from_function = Pointwise(first.weight[:split], first.bias)(function)
        hidden = jnp.expand_dims(from_function, missing_axes)
        if shared:
            from_places = Pointwise(first.weight[split:], None)
            hidden = hidden + from_places(jnp.concatenate(shared, axis=-1))
        else:
            hidden = jnp.broadcast_to(hidden, (*places.shape[:-1], hidden.shape[-1]))
        return self.lifting.output(self.activation(hidden))


class FNO(AbstractOperatorArchitecture):
    """A Fourier neural operator on any number of axes (Li et al., 2021).

    Each layer keeps `modes` frequencies of each axis, counting both signs; a tuple
    gives one number for each axis. An input function without the last axes of the
    output, such as an initial value without time, is repeated along them. Further
    inputs are the coordinates of the places and the position in the grid, from 0 to 1;
    without both the operator commutes with periodic shifts. Fields are periodic along
    every axis.
    """

    modes: int | tuple[int, ...] = 12
    width: int = 20
    depth: int = 4
    kernel: AbstractKernel = DenseKernel()
    activation: AbstractActivation = GELU()
    lifting_width: int = 40
    projection_width: int = 40
    mixing_width: int = 10
    has_coordinates: bool = True
    has_grid: bool = True

    def __check_init__(self):
        modes = (self.modes,) if isinstance(self.modes, int) else self.modes
        check_count(
            modes=min(modes, default=0),
            width=self.width,
            depth=self.depth,
            lifting_width=self.lifting_width,
            projection_width=self.projection_width,
            mixing_width=self.mixing_width,
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
    ) -> FourierOperator:
        """Build a model with random parameters.

        The shapes fix the number of axes, not the number of points.
        """
        check_shapes(in_shape, out_shape, dim)
        *grid, num_outputs = out_shape
        _check_grids("in_shape", in_shape[:-1], tuple(grid))
        given = self.modes
        modes = (given,) * len(grid) if isinstance(given, int) else tuple(given)
        _check_modes(modes, tuple(grid))
        num_channels, width = in_shape[-1], self.width
        num_shared = dim * self.has_coordinates + len(grid) * self.has_grid
        lifting = (num_channels + num_shared, self.lifting_width, width)
        projection = (width, self.projection_width, num_outputs)

        def make(draw: Draw) -> FourierOperator:
            return FourierOperator(
                lifting=build_pointwise_network(*lifting, draw),
                blocks=[self._block(modes, draw) for _ in range(self.depth)],
                projection=build_pointwise_network(*projection, draw),
                activation=self.activation,
                modes=modes,
                num_channels=num_channels,
                dim=dim,
                has_coordinates=self.has_coordinates,
                has_grid=self.has_grid,
            )

        return draw_parameters(make, key=key, dtype=dtype)

    def _block(self, modes: tuple[int, ...], draw: Draw) -> FourierBlock:
        """Draw one layer."""
        width = self.width
        return FourierBlock(
            kernel=self.kernel.build(spectrum_shape(modes), width, draw),
            bias=draw((width,), 0.0),
            linear=build_pointwise(width, width, draw, has_bias=False),
            mix=build_pointwise_network(width, self.mixing_width, width, draw),
            gate=draw((width,), 0.0, 1.0),
        )


def _grid_channels(grid: Shape, dtype: Any) -> Float[Array, "*grid axes"]:
    """Return the position of each point in the grid, from 0 to 1 excluded."""
    axes = [jnp.arange(count, dtype=dtype) / count for count in grid]
    return jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)


def _check_grids(name: str, in_grid: Shape, out_grid: Shape) -> None:
    """Raise unless the input grid equals the first axes of the output grid."""
    if in_grid != out_grid[: len(in_grid)]:
        raise InputError(
            f"`{name}` has the grid {in_grid}, which must be the first axes of the "
            f"output grid {out_grid}: use one grid for both, with the axes that the "
            "input lacks at the end."
        )


def _check_modes(modes: tuple[int, ...], grid: Shape) -> None:
    """Raise unless each axis has at least as many points as frequencies."""
    if len(modes) != len(grid) or any(map(int.__gt__, modes, grid)):
        raise InputError(
            f"`modes` must be one number, or one for each axis of the grid {grid}, and "
            f"at most its length, got {modes}: reduce `modes`, or use a finer grid."
        )
