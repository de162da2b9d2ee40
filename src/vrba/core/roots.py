"""Roots of increasing functions of one variable, to the last digits."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class _Bracket(eqx.Module):
    """Both ends of the interval that holds the root, and the end left behind last."""

    a: Float[Array, ""]
    fa: Float[Array, ""]
    b: Float[Array, ""]
    fb: Float[Array, ""]
    c: Float[Array, ""]
    fc: Float[Array, ""]
    num_values: Int[Array, ""]

    def best(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The end whose value is nearer to zero, and that value."""
        is_a = jnp.abs(self.fa) < jnp.abs(self.fb)
        return jnp.where(is_a, self.a, self.b), jnp.where(is_a, self.fa, self.fb)

    def tolerance(self) -> Float[Array, ""]:
        """The last digits of the root, as a share of the interval."""
        digits = 2 * jnp.finfo(self.a.dtype).eps * jnp.abs(self.best()[0])
        return digits / jnp.abs(self.b - self.a)

    def narrow(self, x: Float[Array, ""], fx: Float[Array, ""]) -> "_Bracket":
        """The part of the interval that still holds the root; first, its two ends."""
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
        choose = lambda one, two, three: jnp.where(
            self.num_values == 0, one, jnp.where(self.num_values == 1, two, three)
        )
        return jax.tree.map(choose, first, second, inside)

    def next_point(self) -> Float[Array, ""]:
        """By inverse quadratic interpolation where it can be trusted, else halfway."""
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
    """The zero of an increasing `fn` between `lower` and `upper`. (Chandrupatla 1997)

    Without a zero in the bracket the nearer end comes back. The number of steps is
    bounded by a multiple of the dtype's digits. `fn` is traced once, so that roots of
    roots compile quickly.
    """
    max_values = 2 + 3 * jnp.finfo(lower.dtype).nmant

    def is_open(bracket):
        is_found = (bracket.tolerance() > 0.5) | (bracket.best()[1] == 0)
        is_found |= jnp.sign(bracket.fa) == jnp.sign(bracket.fb)  # there is no zero
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
    found = jax.lax.while_loop(is_open, step, start)
    return found.best()[0]
