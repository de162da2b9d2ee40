"""What a model offers if it knows a faster way than the general rule."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from .jet import Index, Jet


class AbstractPropagated(eqx.Module):
    """A function of one vector that propagates derivatives by itself."""

    @abc.abstractmethod
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """The value at one point."""

    @abc.abstractmethod
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """The derivatives `indices` of the value, given those of the inputs."""
