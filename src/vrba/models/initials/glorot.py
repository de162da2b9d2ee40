"""Weights that keep the size of what passes both ways."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ._base import AbstractInitial


class Glorot(AbstractInitial):
    """Normal weights of variance `2 / (inputs + outputs)`, zero biases."""

    def layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        """Those of one layer."""
        init = jax.nn.initializers.glorot_normal(in_axis=1, out_axis=0)
        return init(key, (num_outputs, num_inputs), dtype), jnp.zeros(
            num_outputs, dtype
        )
