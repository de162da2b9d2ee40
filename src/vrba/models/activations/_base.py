"""The interface of an activation."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

Values = Float[Array, "..."]


class AbstractActivation(eqx.Module):
    """A function of one number that gives its derivatives cheaply."""

    @abc.abstractmethod
    def slopes(self, value: Values, order: int) -> list[Values]:
        """The function and its derivatives up to `order`."""

    def __call__(self, value: Values) -> Values:
        """The function alone."""
        return self.slopes(value, 0)[0]
