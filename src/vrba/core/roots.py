"""Roots of increasing functions of one variable, to the last digits."""

from collections.abc import Callable

import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float


def find_root(
    fn: Callable[[Float[Array, ""]], Float[Array, ""]],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
) -> Float[Array, ""]:
    """The zero of an increasing `fn` between `lower` and `upper`.

    Bisection halves the bracket once for every digit of the dtype and a few more, so
    the work is fixed; without a zero in the bracket the nearer end comes back.
    """
    solution = optx.root_find(
        lambda x, _: fn(x),
        optx.Bisection(rtol=0.0, atol=0.0, flip=False),
        lower + 0.5 * (upper - lower),
        options={"lower": lower, "upper": upper},
        max_steps=jnp.finfo(lower.dtype).nmant + 8,
        throw=False,
    )
    return solution.value
