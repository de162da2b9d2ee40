"""The Fourier neural operator on a regular grid."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core import InputError, check_count
from ._base import AbstractOperatorArchitecture
from ._draw import Draw, draw_all
from ._pointwise import Pointwise, build_pointwise
from ._shapes import check_call, check_shapes
from ._spectrum import analyse, num_kept, synthesise
from .activations import GELU, AbstractActivation
from .kernels import AbstractBuiltKernel, AbstractKernel, DenseKernel

Field = Float[Array, "*grid channels"]


class FourierBlock(eqx.Module):
    """Low frequencies by the kernel, all by a linear map; then a small network at each
    point beside the gated input."""

    kernel: AbstractBuiltKernel
    bias: Float[Array, " channels"]
    linear: Pointwise
    mix: tuple[Pointwise, Pointwise]
    gate: Float[Array, " channels"]

    def __call__(
        self,
        field: Field,
        modes: tuple[int, ...],
        activation: AbstractActivation,
        is_last: bool,
    ) -> Field:
        """One layer; the last one ends without an activation."""
        act = (lambda x: x) if is_last else activation
        along = (None,) * (field.ndim - 1)
        spectrum = self.kernel(analyse(field, modes))
        wide = synthesise(spectrum, field.shape[:-1], modes) + self.bias[*along, :]
        hidden = act(wide + self.linear(field))
        narrow, broad = self.mix
        mixed = broad(activation(narrow(hidden)))
        return act(mixed + self.gate[*along, :] * field)


class FourierOperator(eqx.Module):
    """What `FNO` builds. It may be asked on a finer grid than it was trained on."""

    lifting: tuple[Pointwise, Pointwise]
    blocks: list[FourierBlock]
    projection: tuple[Pointwise, Pointwise]
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
        """The values on the grid of the places."""
        of_function, of_places = [None] * (function.ndim - 1), [None] * len(self.modes)
        check_call("function", function.shape, (*of_function, self.num_channels))
        check_call("places", places.shape, (*of_places, self.dim))
        grid = places.shape[:-1]
        _check_grids("function", function.shape[:-1], grid)
        _check_modes(self.modes, grid)
        field = self._lifted(function, places)
        *blocks, last_block = self.blocks
        for block in blocks:
            field = block(field, self.modes, self.activation, is_last=False)
        field = last_block(field, self.modes, self.activation, is_last=True)
        wide, last = self.projection
        return last(self.activation(wide(field)))

    def _lifted(
        self,
        function: Float[Array, "*in_grid in_channels"],
        places: Float[Array, "*out_grid dim"],
    ) -> Field:
        """The first channels. What is known of places is multiplied once for all
        functions, and a function on its own grid, before it is repeated."""
        first, second = self.lifting
        known = [places] * self.has_coordinates
        known += [_grid_channels(places.shape[:-1], places.dtype)] * self.has_grid
        split = self.num_channels
        lacking = tuple(range(function.ndim - 1, places.ndim - 1))
        from_function = Pointwise(first.weight[:split], first.bias)(function)
        hidden = jnp.expand_dims(from_function, lacking)
        if known:
            from_places = Pointwise(first.weight[split:], None)
            hidden = hidden + from_places(jnp.concatenate(known, axis=-1))
        else:
            hidden = jnp.broadcast_to(hidden, (*places.shape[:-1], hidden.shape[-1]))
        return second(self.activation(hidden))


class FNO(AbstractOperatorArchitecture):
    """Layers that multiply low frequencies (Li et al., 2021), on any number of axes.

    `modes` frequencies of each axis are kept, of both signs, or one number for each. A
    function that lacks the last axes of the output, as an initial value lacks time, is
    repeated along them. Beside the function the network sees the coordinates of the
    places and the position in the grid, from 0 to 1; without both it commutes with
    periodic shifts. Fields are taken as periodic along every axis.
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
        """Counts are positive."""
        modes = (self.modes,) if isinstance(self.modes, int) else self.modes
        check_count(
            modes=min(modes, default=0),
            width=self.width,
            depth=self.depth,
            lifting_width=self.lifting_width,
            projection_width=self.projection_width,
            mixing_width=self.mixing_width,
        )

    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> FourierOperator:
        """A model with random parameters, for grids of these numbers of axes."""
        check_shapes(in_shape, out_shape, dim)
        *grid, num_outputs = out_shape
        _check_grids("in_shape", in_shape[:-1], tuple(grid))
        given = self.modes
        modes = (given,) * len(grid) if isinstance(given, int) else tuple(given)
        _check_modes(modes, tuple(grid))
        num_channels, width = in_shape[-1], self.width
        num_known = dim * self.has_coordinates + len(grid) * self.has_grid
        num_seen = num_channels + num_known

        def make(draw: Draw) -> FourierOperator:
            return FourierOperator(
                lifting=_build_pair(num_seen, self.lifting_width, width, draw),
                blocks=[self._block(modes, draw) for _ in range(self.depth)],
                projection=_build_pair(width, self.projection_width, num_outputs, draw),
                activation=self.activation,
                modes=modes,
                num_channels=num_channels,
                dim=dim,
                has_coordinates=self.has_coordinates,
                has_grid=self.has_grid,
            )

        return draw_all(make, key=key, dtype=dtype)

    def _block(self, modes: tuple[int, ...], draw: Draw) -> FourierBlock:
        """One layer with random parameters."""
        width = self.width
        return FourierBlock(
            kernel=self.kernel.build(num_kept(modes), width, draw),
            bias=draw((width,), 0.0),
            linear=build_pointwise(width, width, draw, has_bias=False),
            mix=_build_pair(width, self.mixing_width, width, draw),
            gate=draw((width,), 0.0, 1.0),
        )


def _build_pair(
    num_inputs: int, width: int, num_outputs: int, draw: Draw
) -> tuple[Pointwise, Pointwise]:
    """A network with one hidden layer, for each point."""
    first = build_pointwise(num_inputs, width, draw)
    return first, build_pointwise(width, num_outputs, draw)


def _grid_channels(grid: tuple[int, ...], dtype: Any) -> Float[Array, "*grid axes"]:
    """Where a point lies in the grid: from 0, and 1 would be the first point again."""
    axes = [jnp.arange(count, dtype=dtype) / count for count in grid]
    return jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)


def _check_grids(name: str, in_grid: tuple[int, ...], grid: tuple[int, ...]) -> None:
    """The grid of the input is the beginning of that of the output."""
    if in_grid != grid[: len(in_grid)]:
        raise InputError(
            f"`{name}` has the grid {in_grid}, which must be the first axes of the "
            f"output's grid {grid}: bring both onto one grid, with the axes that the "
            "input lacks at the end."
        )


def _check_modes(modes: tuple[int, ...], grid: tuple[int, ...]) -> None:
    """Each axis has as many points as frequencies are kept."""
    if len(modes) != len(grid) or any(map(int.__gt__, modes, grid)):
        raise InputError(
            f"`modes` must be one number, or one for each axis of the grid {grid}, and "
            f"at most its length, got {modes}: keep fewer, or use a finer grid."
        )
