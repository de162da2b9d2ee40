"""Activation functions, with their derivatives."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..fields import repeated_derivatives

Values = Float[Array, "..."]


class AbstractActivation(eqx.Module):
    """An elementwise function with cheap derivatives."""

    @abc.abstractmethod
    def derivatives(self, value: Values, order: int) -> list[Values]:
        """Return the function and its derivatives up to `order`, all at `value`."""

    def __call__(self, value: Values) -> Values:
        """Return the function without derivatives."""
        return self.derivatives(value, 0)[0]


class GELU(AbstractActivation):
    """`x Phi(x)`, with the normal distribution function `Phi` (Hendrycks, Gimpel 2016).

    It uses `erf`, not the approximation with `tanh`.
    """

    @override
    def derivatives(self, value: Values, order: int) -> list[Values]:
        """Use `Phi' = phi` and `phi' = -x phi` up to order four, then autodiff."""
        probability = (1 + jax.lax.erf(value * math.sqrt(0.5))) / 2
        if order == 0:
            return [value * probability]
        if order > 4:
            return [value * probability, *repeated_derivatives(self, value, order)[1:]]
        square = value * value
        density = jnp.exp(-square / 2) / math.sqrt(2 * math.pi)
        found = [value * probability, probability + value * density]
        if order > 1:
            found.append((2 - square) * density)
        if order > 2:
            found.append((square - 4) * value * density)
        if order > 3:
            found.append((7 * square - square * square - 4) * density)
        return found


class SiLU(AbstractActivation):
    """`x / (1 + exp(-x))` (Elfwing et al., 2018)."""

    @override
    def derivatives(self, value: Values, order: int) -> list[Values]:
        """Use a formula for the first derivative, autodiff for higher ones."""
        sigmoid = jax.nn.sigmoid(value)
        found = [value * sigmoid]
        if order > 1:
            return found + repeated_derivatives(self, value, order)[1:]
        return found + [sigmoid + value * sigmoid * (1 - sigmoid)] * order


class Sine(AbstractActivation):
    """`sin(x)`."""

    @override
    def derivatives(self, value: Values, order: int) -> list[Values]:
        sine, cosine = jnp.sin(value), jnp.cos(value)
        cycle = [sine, cosine, -sine, -cosine]
        return [cycle[k % 4] for k in range(order + 1)]


class Tanh(AbstractActivation):
    """`tanh(x)`; its derivatives are polynomials in `tanh(x)`."""

    @override
    def derivatives(self, value: Values, order: int) -> list[Values]:
        """Use `tanh' = 1 - tanh**2` up to order four, then autodiff."""
        y = jnp.tanh(value)
        if order > 4:
            return [y, *repeated_derivatives(jnp.tanh, value, order)[1:]]
        square = y * y
        first = 1 - square
        found = [y, first]
        if order > 1:
            found.append(-2 * y * first)
        if order > 2:
            found.append(first * (6 * square - 2))
        if order > 3:
            found.append(8 * y * first * (2 - 3 * square))
        return found[: order + 1]
