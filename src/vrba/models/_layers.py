"""What all operators share: argument checks, random parameters, pointwise layers."""

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key

from ..core import InputError
from .activations import AbstractActivation

Shape = tuple[int, ...]
Built = TypeVar("Built")
Draw = Callable[..., Float[Array, "..."]]
"""`draw(shape, deviation, mean=0)`: uniformly distributed numbers with this standard
deviation and mean; constant if `deviation=0`."""


def check_shapes(in_shape: Shape, out_shape: Shape, dim: int) -> None:
    """Raise unless each shape is a grid followed by channels, and `dim >= 1`."""
    for name, shape in {"in_shape": in_shape, "out_shape": out_shape}.items():
        if len(shape) < 2 or min(shape) < 1:
            raise InputError(
                f"`{name}` must be the axes of a grid followed by the number of "
                f"channels, all at least 1, got {shape}: a function of one channel on "
                "200 points has (200, 1)."
            )
    if dim < 1:
        raise InputError(f"`dim` must be at least 1, got {dim}.")


def check_argument(name: str, shape: Shape, expected: tuple[int | None, ...]) -> None:
    """Raise unless an argument has the shape of the build; None allows any length."""
    is_fitting = len(shape) == len(expected) and all(
        want in (None, length) for length, want in zip(shape, expected, strict=True)
    )
    if not is_fitting:
        wanted = ", ".join("any" if want is None else str(want) for want in expected)
        raise InputError(
            f"`{name}` must have the shape ({wanted}) that the model was built for, "
            f"got {shape}: use `jax.vmap` for several functions."
        )


def draw_parameters(
    make: Callable[[Draw], Built], *, key: Key[Array, ""], dtype: Any
) -> Built:
    """Return `make(draw)`, with all random numbers from one call of the generator.

    A program with hundreds of separate calls takes a minute to compile. So `make` runs
    twice, the first time to count the numbers.
    """
    sizes: list[int] = [0]

    def count(
        shape: tuple[int, ...], deviation: float, mean: float = 0.0
    ) -> Float[Array, "..."]:
        sizes.extend([math.prod(shape)] * (deviation > 0))
        return jnp.zeros(shape, dtype)

    jax.eval_shape(lambda: make(count))
    ends = list(itertools.accumulate(sizes))
    bound = math.sqrt(3)
    numbers = jax.random.uniform(key, (ends[-1],), dtype, -bound, bound)
    # NumPy slices without compiling, but not traced arrays.
    numbers = numbers if isinstance(numbers, Tracer) else np.asarray(numbers)
    pieces = iter([numbers[a:b] for a, b in itertools.pairwise(ends)])

    def draw(
        shape: tuple[int, ...], deviation: float, mean: float = 0.0
    ) -> Float[Array, "..."]:
        if deviation > 0:
            return jax.device_put(deviation * next(pieces).reshape(shape) + mean)
        return jax.device_put(np.full(shape, mean, dtype))

    return make(draw)


def repeat_for_each_function(
    matrix: Float[Array, "rows columns"], field: Float[Array, "..."]
) -> Float[Array, "rows columns"]:
    """Return the matrix unchanged, but batched by `vmap` if the field is batched.

    Otherwise `vmap` forms one large product over all functions. Its gradient transposes
    each field, which takes longer than the product. Only `vmap` sees the selection
    between two equal matrices: the compiler removes it.
    """
    is_either_way = field.reshape(-1)[0] < jnp.inf
    return jax.lax.select(is_either_way, matrix, matrix)


class Pointwise(eqx.Module):
    """The linear map `x W + b` of the channels `x` at each point; `b` is optional."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None

    def __call__(
        self, field: Float[Array, "*grid inputs"]
    ) -> Float[Array, "*grid outputs"]:
        """Return the new channels of each point."""
        *grid, num_inputs = field.shape
        flat = field.reshape(-1, num_inputs)
        values = flat @ repeat_for_each_function(self.weight, flat)
        if self.bias is not None:
            values = values + self.bias[None, :]
        return values.reshape(*grid, values.shape[-1])


class PointwiseNetwork(eqx.Module):
    """A network with one hidden layer, applied to the channels of each point."""

    hidden: Pointwise
    output: Pointwise

    def __call__(
        self, field: Float[Array, "*grid inputs"], activation: AbstractActivation
    ) -> Float[Array, "*grid outputs"]:
        """Return the new channels of each point."""
        return self.output(activation(self.hidden(field)))


def build_pointwise(
    num_inputs: int, num_outputs: int, draw: Draw, *, has_bias: bool = True
) -> Pointwise:
    """Draw weights and biases of magnitude at most `1 / sqrt(num_inputs)`."""
    deviation = 1 / math.sqrt(3 * num_inputs)
    weight = draw((num_inputs, num_outputs), deviation)
    return Pointwise(weight, draw((num_outputs,), deviation) if has_bias else None)


def build_pointwise_network(
    num_inputs: int, width: int, num_outputs: int, draw: Draw
) -> PointwiseNetwork:
    """Draw the parameters of a network with `width` hidden units."""
    hidden = build_pointwise(num_inputs, width, draw)
    return PointwiseNetwork(hidden, build_pointwise(width, num_outputs, draw))
