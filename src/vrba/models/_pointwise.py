"""The same linear map at every point of a grid."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._draw import Draw


def for_each_function(
    matrix: Float[Array, "rows columns"], field: Float[Array, "..."]
) -> Float[Array, "rows columns"]:
    """The matrix as it is, but mapped over functions if the field is.

    Else `vmap` makes one large product of all functions, whose gradient needs each
    field transposed, which takes longer than the product itself. The choice between two
    equal matrices is for `vmap` alone: the compiler takes it out.
    """
    is_either = field.reshape(-1)[0] < jnp.inf
    return jax.lax.select(is_either, matrix, matrix)


class Pointwise(eqx.Module):
    """`x W + b` for the channels `x` at each point, or without the `b`."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None

    def __call__(
        self, field: Float[Array, "*grid inputs"]
    ) -> Float[Array, "*grid outputs"]:
        """The new channels at each point."""
        *grid, num_inputs = field.shape
        flat = field.reshape(-1, num_inputs)
        values = flat @ for_each_function(self.weight, flat)
        if self.bias is not None:
            values = values + self.bias[None, :]
        return values.reshape(*grid, values.shape[-1])


def build_pointwise(
    num_inputs: int, num_outputs: int, draw: Draw, *, has_bias: bool = True
) -> Pointwise:
    """A map whose weights and biases are at most `1 / sqrt(num_inputs)`."""
    deviation = 1 / math.sqrt(3 * num_inputs)
    weight = draw((num_inputs, num_outputs), deviation)
    return Pointwise(weight, draw((num_outputs,), deviation) if has_bias else None)
