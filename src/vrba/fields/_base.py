"""The interface of a model that propagates derivatives faster than the general rule."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from .jet import Index, Jet


class AbstractPropagated(eqx.Module):
    """A function of one vector with its own rule for derivatives."""

    @abc.abstractmethod
    def __call__(self, inputs: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """Return the value at one point."""

    @abc.abstractmethod
    def propagate(self, inputs: Jet, indices: frozenset[Index]) -> Jet:
        """Return the derivatives `indices` of the value, given those of the inputs."""
