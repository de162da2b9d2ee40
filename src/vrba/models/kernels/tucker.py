"""Weights in Tucker's form: a small core, and a matrix along each of its axes."""

import math

from jaxtyping import Array, Float

from ...core import InputError
from .._draw import Draw
from .._spectrum import multiply, transform
from ..complex_array import ComplexArray, build_complex
from ._base import AbstractBuiltKernel, AbstractKernel


class TuckerWeights(AbstractBuiltKernel):
    """What `TuckerKernel` builds: the core `[*ranks, rank_in, rank_out]`, a matrix
    `[kept, rank]` for each axis, and `[channels, rank_in]`, `[rank_out, channels]`."""

    core: ComplexArray
    axes: list[ComplexArray]
    inward: ComplexArray
    outward: ComplexArray

    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        """The core is expanded along the frequencies, once for all functions; along the
        channels it costs less to multiply each spectrum, up to as many functions as
        there are channels."""
        expanded = transform(self.core.stack(0), self.axes)
        narrowed = multiply(spectrum, self.inward.stack(0))
        return multiply(multiply(narrowed, expanded), self.outward.stack(0))


class TuckerKernel(AbstractKernel):
    """A core times a matrix along each of its axes (Kossaifi et al., 2023).

    `rank` is the share of each axis that the core keeps: with 0.5 in three dimensions
    it holds a 32nd of all weights, with 1 it spares nothing.
    """

    rank: float = 0.5

    def __check_init__(self):
        """The rank is a share."""
        if not 0 < self.rank <= 1:
            raise InputError(
                "`rank` must be a share of each axis, more than 0 and at most 1, got "
                f"{self.rank}."
            )

    def build(self, num_kept: tuple[int, ...], width: int, draw: Draw) -> TuckerWeights:
        """Random core and matrices, all with one deviation."""
        sizes = (*num_kept, width, width)
        ranks = tuple(max(1, round(self.rank * size)) for size in sizes)
        deviation = 1 / math.sqrt(width * math.prod(ranks))
        deviation **= 1 / (len(sizes) + 1)
        *shapes, inward, outward = zip(sizes, ranks, strict=True)
        return TuckerWeights(
            core=build_complex(ranks, deviation, draw),
            axes=[build_complex(shape, deviation, draw) for shape in shapes],
            inward=build_complex(inward, deviation, draw),
            outward=build_complex(outward[::-1], deviation, draw),
        )
