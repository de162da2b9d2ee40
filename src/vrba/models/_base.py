"""The interfaces of architectures."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key

from ..fields import AbstractPropagated, Index, Jet


class AbstractLayered(AbstractPropagated):
    """A network whose layers other models can read, with derivatives."""

    @abc.abstractmethod
    def propagate_layers(self, inputs: Jet, indices: frozenset[Index]) -> list[Jet]:
        """Return the jets of the inputs, of each hidden layer and of the output."""


class AbstractArchitecture(eqx.Module):
    """Settings of a network that is evaluated at a point."""

    @abc.abstractmethod
    def build(
        self,
        num_inputs: int,
        num_outputs: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
        names: tuple[str, ...] = (),
    ) -> Callable[[Float[Array, " inputs"]], Float[Array, " outputs"]]:
        """Build a network with random parameters: a pytree, called with one point.

        `names`, if given, holds for each input the one coordinate that it depends on.
        The coordinates appear in their order in the problem.
        """


class AbstractOperatorArchitecture(eqx.Module):
    """Settings of a neural operator.

    The built model is called with one function on its grid, as
    `model(function, places)`. It returns values at the places, whose last axis holds
    all coordinates, including time. Use `jax.vmap(model, in_axes=(0, None))` for
    functions with the same places, else `in_axes=(0, 0)`. Any function with this
    signature can be trained.
    """

    @abc.abstractmethod
    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> Callable[
        [Float[Array, "*in_grid in_channels"], Float[Array, "*out_grid dim"]],
        Float[Array, "*out_grid out_channels"],
    ]:
        """Build a model with random parameters.

        `in_shape` is the shape of the input function, `out_shape` that of the values:
        the axes of a grid, then the channels. Places have `dim` coordinates.
        """
