"""Roots of increasing functions of one variable, to machine precision."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class _Bracket(eqx.Module):
    """An interval `[a, b]` that contains the root, and `c`, the previous end."""

    a: Float[Array, ""]
    fa: Float[Array, ""]
    b: Float[Array, ""]
    fb: Float[Array, ""]
    c: Float[Array, ""]
    fc: Float[Array, ""]
    num_values: Int[Array, ""]

    def best(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the end with the smaller absolute value of `fn`, and that value."""
        is_a = jnp.abs(self.fa) < jnp.abs(self.fb)
        return jnp.where(is_a, self.a, self.b), jnp.where(is_a, self.fa, self.fb)

    def tolerance(self) -> Float[Array, ""]:
        """Return the rounding error of the root relative to the interval length."""
        digits = 2 * jnp.finfo(self.a.dtype).eps * jnp.abs(self.best()[0])
        return digits / jnp.abs(self.b - self.a)

    def narrow(self, x: Float[Array, ""], fx: Float[Array, ""]) -> "_Bracket":
        """Return the subinterval that contains the root; two calls set the ends."""
        same = jnp.sign(fx) == jnp.sign(self.fa)
        inside = _Bracket(
            x,
            fx,
            jnp.where(same, self.b, self.a),
            jnp.where(same, self.fb, self.fa),
            jnp.where(same, self.a, self.b),
            jnp.where(same, self.fa, self.fb),
            self.num_values + 1,
        )
        first = _Bracket(x, fx, self.b, self.fb, self.c, self.fc, self.num_values + 1)
        second = _Bracket(self.a, self.fa, x, fx, x, fx, self.num_values + 1)
        by_count = lambda one, two, three: jnp.where(
            self.num_values == 0, one, jnp.where(self.num_values == 1, two, three)
        )
        return jax.tree.map(by_count, first, second, inside)

    def next_point(self) -> Float[Array, ""]:
        """Interpolate inverse-quadratically where that is safe; else bisect."""
        a, fa, b, fb, c, fc = self.a, self.fa, self.b, self.fb, self.c, self.fc
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        can_trust = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        share = fa / (fb - fa) * fc / (fb - fc)
        share += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = jnp.where(can_trust & jnp.isfinite(share), share, 0.5)
        edge = jnp.minimum(self.tolerance(), 0.5)
        return a + jnp.clip(share, edge, 1 - edge) * (b - a)


def find_root(
    fn: Callable[[Float[Array, ""]], Float[Array, ""]],
    lower: Float[Array, ""],
    upper: Float[Array, ""],
) -> Float[Array, ""]:
    """Find the zero of an increasing `fn` between `lower` and `upper`.

    Chandrupatla's method (1997). Without a zero in the interval, return the end whose
    value is closer to zero. The number of steps is bounded by a multiple of the digits
    of the dtype. `fn` is traced once, so nested root finding compiles quickly.
    """
    max_values = 2 + 3 * jnp.finfo(lower.dtype).nmant

    def is_unfinished(bracket):
        is_found = (bracket.tolerance() > 0.5) | (bracket.best()[1] == 0)
        is_found |= jnp.sign(bracket.fa) == jnp.sign(bracket.fb)  # no zero in between
        is_new = bracket.num_values < 2
        return is_new | (~is_found & (bracket.num_values < max_values))

    def step(bracket):
        count = bracket.num_values
        end = jnp.where(count == 0, upper, lower)
        x = jnp.where(count < 2, end, bracket.next_point())
        fx = fn(x)
        return bracket.narrow(x, jnp.where(jnp.isnan(fx), jnp.inf, fx))

    one = jnp.ones_like(lower)
    start = _Bracket(upper, one, lower, -one, lower, -one, jnp.zeros((), jnp.int32))
    found = jax.lax.while_loop(is_unfinished, step, start)
    return found.best()[0]
