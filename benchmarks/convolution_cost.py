"""Ways to write a convolution, in a compiled loop: XLA's own, a product for each place
of the window, for each row of it (ours), and for all of it.

`python -m benchmarks convolution_cost`
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from vrba.models import Convolution

from .timing import time_together

NUM_SAMPLES, NUM_POINTS, CHANNELS, SIZE, NUM_STEPS = 20, 32, 8, 3, 10


def shifted(field: jax.Array) -> list[list[jax.Array]]:
    """The field as each place of the window sees it, by rows."""
    margin = ((SIZE - 1) // 2, SIZE // 2)
    padded = jnp.pad(field, [margin, margin, (0, 0)])
    height, width = field.shape[:2]
    return [
        [padded[i : i + height, j : j + width] for j in range(SIZE)]
        for i in range(SIZE)
    ]


def by_xla(weight: jax.Array, field: jax.Array) -> jax.Array:
    """XLA's own."""
    layout = ("NHWC", "HWIO", "NHWC")
    found = jax.lax.conv_general_dilated(
        field[None], weight, (1, 1), "SAME", dimension_numbers=layout
    )
    return found[0]


def by_places(weight: jax.Array, field: jax.Array) -> jax.Array:
    """A product for each place."""
    rows = shifted(field)
    pairs = [(rows[i][j], weight[i, j]) for i in range(SIZE) for j in range(SIZE)]
    return sum((part @ matrix for part, matrix in pairs), jnp.zeros(()))


def by_windows(weight: jax.Array, field: jax.Array) -> jax.Array:
    """One product, with all places side by side."""
    places = [part for row in shifted(field) for part in row]
    wide = jnp.concatenate(places, axis=-1)
    return wide @ weight.reshape(-1, weight.shape[-1])


def by_rows(weight: jax.Array, field: jax.Array) -> jax.Array:
    """As vrba does."""
    return Convolution(weight, jnp.zeros(weight.shape[-1], weight.dtype))(field)


def looped(layer: Callable[..., jax.Array]) -> Callable[[Any], Any]:
    """Some steps of gradient descent through two layers."""
    shape = (NUM_SAMPLES, NUM_POINTS, NUM_POINTS, CHANNELS)
    fields = jax.random.normal(jax.random.key(0), shape, jnp.float32)

    def loss(weight):
        deep = lambda field: layer(weight, jnp.tanh(layer(weight, field)))
        return jnp.mean(jax.vmap(deep)(fields) ** 2)

    step = lambda _, weight: weight - 0.1 * jax.grad(loss)(weight)
    return jax.jit(lambda weight: jax.lax.fori_loop(0, NUM_STEPS, step, weight))


def main() -> None:
    """Prints how long each takes beside ours."""
    shape = (SIZE, SIZE, CHANNELS, CHANNELS)
    weight = 0.1 * jax.random.normal(jax.random.key(1), shape, jnp.float32)
    ways = {
        "rows (vrba)": looped(by_rows),
        "places": looped(by_places),
        "windows": looped(by_windows),
        "XLA's own": looped(by_xla),
    }
    cases = {name: partial(way, weight) for name, way in ways.items()}
    times = time_together(cases, rounds=5, repeats=2)
    for name, seconds in times.items():
        ratio = seconds / times["rows (vrba)"]
        print(f"{name:12s} {1e3 * seconds / NUM_STEPS:7.2f} ms a step  {ratio:.2f} x")
