"""The deep operator network: functions of the input times functions of the place."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core import check_count
from ._base import AbstractArchitecture, AbstractOperatorArchitecture
from ._shapes import check_call, check_shapes
from .activations import GELU
from .initials import FanIn
from .mlp import MLP


class BranchTrunk(eqx.Module):
    """What `DeepONet` builds. Places that all functions share meet the trunk once."""

    branch: Callable[[Float[Array, " inputs"]], Float[Array, " latents"]]
    trunk: Callable[[Float[Array, " dim"]], Float[Array, " latents"]]
    in_shape: tuple[int, ...] = eqx.field(static=True)
    num_channels: int = eqx.field(static=True)

    def __call__(
        self,
        function: Float[Array, "*in_grid in_channels"],
        places: Float[Array, "*out_grid dim"],
    ) -> Float[Array, "*out_grid out_channels"]:
        """The values at the places: on a grid, or anywhere."""
        check_call("function", function.shape, self.in_shape)
        *out_grid, dim = places.shape
        factors = self.branch(function.reshape(-1))
        basis = jax.vmap(self.trunk)(places.reshape(-1, dim))
        factors = factors.reshape(self.num_channels, -1)
        basis = basis.reshape(-1, *factors.shape)
        values = jnp.einsum("cl,pcl->pc", factors, basis)
        return values.reshape(*out_grid, self.num_channels)


class DeepONet(AbstractOperatorArchitecture):
    """`sum_l branch_l(function) trunk_l(place)` over `latent` products for each channel
    of the output (Lu et al., 2021), without a bias.

    The function is seen where it was given in training; values may be asked anywhere.
    The places should be scaled, as no embedding comes with it.
    """

    branch: AbstractArchitecture = MLP(100, 4, GELU(), FanIn())
    trunk: AbstractArchitecture = MLP(100, 4, GELU(), FanIn())
    latent: int = 100

    def __check_init__(self):
        """There is at least one product."""
        check_count(latent=self.latent)

    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> BranchTrunk:
        """A model with random parameters; of `out_shape` only the channels matter."""
        check_shapes(in_shape, out_shape, dim)
        num_channels = out_shape[-1]
        num_latents = self.latent * num_channels
        one, two = jax.random.split(key)
        branch = self.branch.build(
            math.prod(in_shape), num_latents, key=one, dtype=dtype
        )
        trunk = self.trunk.build(dim, num_latents, key=two, dtype=dtype)
        return BranchTrunk(branch, trunk, tuple(in_shape), num_channels)
