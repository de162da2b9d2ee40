"""All random numbers of a model in one piece.

A program that draws hundreds of arrays by themselves takes a minute to compile.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key

Built = TypeVar("Built")

# `draw(shape, deviation, mean=0)`: uniform numbers about the mean; with 0, the mean.
Draw = Callable[..., Float[Array, "..."]]


def draw_all(
    make: Callable[[Draw], Built], *, key: Key[Array, ""], dtype: Any
) -> Built:
    """`make(draw)`. It is run twice, the first time to count."""
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
    # NumPy cuts without compiling; under a trace it cannot.
    numbers = numbers if isinstance(numbers, Tracer) else np.asarray(numbers)
    pieces = iter([numbers[a:b] for a, b in itertools.pairwise(ends)])

    def draw(
        shape: tuple[int, ...], deviation: float, mean: float = 0.0
    ) -> Float[Array, "..."]:
        if deviation > 0:
            return jax.device_put(deviation * next(pieces).reshape(shape) + mean)
        return jax.device_put(np.full(shape, mean, dtype))

    return make(draw)
