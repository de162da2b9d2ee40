"""Weights and biases that differ by the number of inputs."""

from typing import Any

import jax
from jaxtyping import Array, Float, Key

from ._base import AbstractInitial


class FanIn(AbstractInitial):
    """Weights and biases even between `-a` and `a`, `a = inputs ** -0.5`, as torch has
    them. The units of a layer with few inputs then turn at different places."""

    def layer(
        self, num_inputs: int, num_outputs: int, *, key: Key[Array, ""], dtype: Any
    ) -> tuple[Float[Array, "outputs inputs"], Float[Array, " outputs"]]:
        """Those of one layer."""
        bound = num_inputs**-0.5
        keys = jax.random.split(key)
        even = lambda key, *shape: jax.random.uniform(key, shape, dtype, -bound, bound)
        return even(keys[0], num_outputs, num_inputs), even(keys[1], num_outputs)
