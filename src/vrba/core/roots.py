"""Roots of increasing functions of one variable, to the last digits."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def find_root(
    fn: Callable[[Float[Array, ""]], Float[Array, ""]],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
) -> Float[Array, ""]:
    """The zero of an increasing `fn` between `lower` and `upper`.

    Inverse quadratic steps where three values of `fn` allow them, halving else, always
    inside the bracket (Chandrupatla 1997). Without a zero in the bracket the nearer end
    comes back. The number of steps is bounded by a multiple of the dtype's digits.
    """
    eps = jnp.finfo(lower.dtype).eps
    max_steps = 3 * jnp.finfo(lower.dtype).nmant

    def value(x):
        y = fn(x)
        return jnp.where(jnp.isnan(y), jnp.inf, y)  # an overflow, beyond the root

    def is_open(carry):
        num_steps, _, (best, value_of_best), _, tolerance = carry
        return (num_steps < max_steps) & (tolerance < 0.5) & (value_of_best != 0)

    def step(carry):
        num_steps, share, _, ((a, fa), (b, fb), _), _ = carry
        x = a + share * (b - a)
        fx = value(x)
        same = jnp.sign(fx) == jnp.sign(fa)
        c, fc = jnp.where(same, a, b), jnp.where(same, fa, fb)
        b, fb = jnp.where(same, b, a), jnp.where(same, fb, fa)
        a, fa = x, fx
        closer = jnp.abs(fa) < jnp.abs(fb)
        best = jnp.where(closer, a, b), jnp.where(closer, fa, fb)
        tolerance = 2 * eps * jnp.abs(best[0]) / jnp.abs(b - a)
        points = ((a, fa), (b, fb), (c, fc))
        share = next_share(points, jnp.minimum(tolerance, 0.5))
        return num_steps + 1, share, best, points, tolerance

    f_lower, f_upper = value(lower), value(upper)
    ends = ((upper, f_upper), (lower, f_lower), (lower, f_lower))
    half = jnp.full_like(lower, 0.5)
    start = (0, half, ends[0], ends, jnp.zeros_like(lower))
    _, _, (root, _), _, _ = jax.lax.while_loop(is_open, step, start)
    root = jnp.where(f_upper <= 0, upper, root)
    return jnp.where(f_lower >= 0, lower, root)


def next_share(
    points: tuple[tuple[Float[Array, ""], Float[Array, ""]], ...],
    tolerance: Float[Array, ""],
) -> Float[Array, ""]:
    """How far from `a` towards `b` to look next; `c` is the point left behind."""
    (a, fa), (b, fb), (c, fc) = points
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    is_smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
    quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (
        fc - fa
    ) * fb / (fc - fb)
    usable = is_smooth & jnp.isfinite(quadratic)
    share = jnp.where(usable, quadratic, 0.5)
    return jnp.clip(share, tolerance, 1 - tolerance)
