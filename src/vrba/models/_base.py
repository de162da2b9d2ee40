"""The interfaces of architectures."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key


class AbstractArchitecture(eqx.Module):
    """Settings of a network, which `build` turns into parameters."""

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
        """A network with random parameters: a pytree that is called at one point.

        `names`, if given, says which coordinate each input is a function of, and of
        this one alone; the coordinates are in their order.
        """


class AbstractOperatorArchitecture(eqx.Module):
    """Settings of a neural operator, which `build` turns into parameters.

    What is built is called as `model(function, places)` for one function on its grid,
    and gives values at the places, whose last axis holds all coordinates, time too. It
    is mapped over functions: `jax.vmap(model, in_axes=(0, None))` if all of them are
    asked at the same places, else `in_axes=(0, 0)`. Any such function may be trained.
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
        """A model with random parameters.

        It takes a function of `in_shape` and gives values of `out_shape`, each a grid
        and then channels, at places with `dim` coordinates.
        """
