"""All weights by themselves."""

import math

from jaxtyping import Array, Float

from .._draw import Draw
from .._spectrum import multiply
from ..complex_array import ComplexArray, build_complex
from ._base import AbstractBuiltKernel, AbstractKernel


class DenseWeights(AbstractBuiltKernel):
    """What `DenseKernel` builds: `[*kept, channels, channels]`."""

    matrix: ComplexArray

    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        """One product for each frequency."""
        return multiply(spectrum, self.matrix.stack(-3))


class DenseKernel(AbstractKernel):
    """A matrix of its own for each frequency (Li et al., 2021)."""

    def build(self, num_kept: tuple[int, ...], width: int, draw: Draw) -> DenseWeights:
        """Random weights."""
        shape = (*num_kept, width, width)
        return DenseWeights(build_complex(shape, 1 / math.sqrt(width), draw))
