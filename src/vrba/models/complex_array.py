"""Complex numbers that any optimizer can train."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._draw import Draw


class ComplexArray(eqx.Module):
    """Complex numbers as two real arrays.

    JAX's gradient of a complex parameter is the conjugate of the steepest ascent, so
    that most optimizers would climb along its imaginary part. Two real arrays have no
    such trap.
    """

    real: Float[Array, "*shape"]
    imag: Float[Array, "*shape"]

    @property
    def size(self) -> int:
        """How many complex numbers there are."""
        return self.real.size

    def stack(self, axis: int) -> Float[Array, "..."]:
        """One real array with a new axis of two: the real and the imaginary part."""
        return jnp.stack([self.real, self.imag], axis)


def build_complex(shape: tuple[int, ...], deviation: float, draw: Draw) -> ComplexArray:
    """Random numbers with mean square magnitude `deviation**2`."""
    each = deviation / 2**0.5
    return ComplexArray(draw(shape, each), draw(shape, each))
