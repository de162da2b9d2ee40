"""The interface of a potential."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import find_root
from .._inputs import log_largest_argument


class AbstractPotential(eqx.Module):
    """A convex, increasing function `phi` of the residual size `s >= 0`.

    Its slope `phi'` shapes the tilt. Its conjugate `phi*(y) = sup_s { s y - phi(s) }`
    is the price of tilting. For `s < 0` the potential keeps its value at zero, unless
    it is defined everywhere. Declare settings that are Python numbers or functions with
    `eqx.field(static=True)`: `jax.jit` then accepts policies as arguments.
    """

    @abc.abstractmethod
    def is_defined_everywhere(self) -> bool:
        """Whether the slope is nonzero for negative arguments."""

    @abc.abstractmethod
    def is_shift_invariant(self) -> bool:
        """Whether `phi'(s + c)` is a multiple of `phi'(s)`."""

    @abc.abstractmethod
    def value(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`phi(s)`."""

    @abc.abstractmethod
    def slope(self, s: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`phi'(s)`; zero for `s < 0` unless defined everywhere."""

    @abc.abstractmethod
    def relative_slope(
        self, s: Float[Array, "*any"], peak: Float[Array, ""]
    ) -> Float[Array, "*any"]:
        """`phi'(s) / phi'(peak)` for `s <= peak`, without intermediate overflow."""

    @abc.abstractmethod
    def inverse_slope(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The `s` with `phi'(s) = y`; zero for `y` below the slope at zero."""

    @abc.abstractmethod
    def degree(self) -> float | None:
        """`p` if the potential is a multiple of `s**p`, else `None`."""

    def conjugate(self, y: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """`phi*(y)`: infinite for `y < 0` and where no slope reaches `y`.

        The derivative of the conjugate is the inverse slope, which therefore needs no
        gradient of its own.
        """
        s = self.inverse_slope(jax.lax.stop_gradient(jnp.maximum(y, 0)))
        price = jnp.where(y > 0, s * y, 0) - self.value(s)
        return jnp.where((y < 0) | (s == jnp.inf), jnp.inf, price)


def invert_slope(
    potential: AbstractPotential, y: Float[Array, "*any"]
) -> Float[Array, "*any"]:
    """Find the `s` with `phi'(s) = y` for a potential without a closed form."""
    bound = log_largest_argument(y.dtype)

    def solve(y):
        log_largest = jnp.full_like(y, bound)

        def above(x):
            return potential.slope(jnp.exp(x)) - y

        def below(x):
            return y - potential.slope(-jnp.exp(x))

        s = jnp.exp(find_root(above, -log_largest, log_largest))
        if not potential.is_defined_everywhere():
            return s
        negative = -jnp.exp(find_root(below, -log_largest, log_largest))
        return jnp.where(y < potential.slope(jnp.zeros_like(y)), negative, s)

    s = jax.vmap(solve)(y.reshape(-1)).reshape(y.shape)
    if potential.is_defined_everywhere():
        return s
    return jnp.where(y <= potential.slope(jnp.zeros_like(y)), 0, s)


def slope_at(potential: AbstractPotential, s: float) -> float:
    """`phi'(s)` as a Python number, for the checks of settings."""
    with jax.ensure_compile_time_eval():
        return float(potential.slope(jnp.asarray(s, dtype=jnp.result_type(float))))
