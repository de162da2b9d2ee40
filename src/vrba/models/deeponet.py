"""The deep operator network: products of a branch and a trunk network."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from typing_extensions import override

from ..core import check_count
from ._base import AbstractArchitecture, AbstractOperatorArchitecture
from ._layers import check_argument, check_shapes
from .activations import GELU
from .initials import FanIn
from .mlp import MLP


class BranchTrunk(eqx.Module):
    """The model of `DeepONet`. `vmap` evaluates the trunk once at shared places."""

    branch: Callable[[Float[Array, " inputs"]], Float[Array, " latents"]]
    trunk: Callable[[Float[Array, " dim"]], Float[Array, " latents"]]
    in_shape: tuple[int, ...] = eqx.field(static=True)
    num_channels: int = eqx.field(static=True)

    def __call__(
        self,
        function: Float[Array, "*in_grid in_channels"],
        places: Float[Array, "*out_grid dim"],
    ) -> Float[Array, "*out_grid out_channels"]:
        """Return the values at the places, on a grid or not."""
        check_argument("function", function.shape, self.in_shape)
        *out_grid, dim = places.shape
        coefficients = self.branch(function.reshape(-1))
        basis = jax.vmap(self.trunk)(places.reshape(-1, dim))
        coefficients = coefficients.reshape(self.num_channels, -1)
        basis = basis.reshape(-1, *coefficients.shape)
        values = jnp.einsum("cl,pcl->pc", coefficients, basis)
        return values.reshape(*out_grid, self.num_channels)


class DeepONet(AbstractOperatorArchitecture):
    """`sum_l branch_l(function) trunk_l(place)` over `latent` products for each output
    channel, without a bias (Lu et al., 2021).

    The input function is always given on the grid of the training data. Places may
    differ from those of the training data. Scale them, since there is no embedding.
    """

    branch: AbstractArchitecture = MLP(100, 4, GELU(), FanIn())
    trunk: AbstractArchitecture = MLP(100, 4, GELU(), FanIn())
    latent: int = 100

    def __check_init__(self):
        check_count(latent=self.latent)

    @override
    def build(
        self,
        in_shape: tuple[int, ...],
        out_shape: tuple[int, ...],
        dim: int,
        *,
        key: Key[Array, ""],
        dtype: Any,
    ) -> BranchTrunk:
        """Build a model with random parameters; the output grid has no effect."""
        check_shapes(in_shape, out_shape, dim)
        num_channels = out_shape[-1]
        num_latents = self.latent * num_channels
        branch_key, trunk_key = jax.random.split(key)
        branch = self.branch.build(
            math.prod(in_shape), num_latents, key=branch_key, dtype=dtype
        )
        trunk = self.trunk.build(dim, num_latents, key=trunk_key, dtype=dtype)
        return BranchTrunk(branch, trunk, tuple(in_shape), num_channels)
