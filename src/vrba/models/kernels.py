"""Spectral weights: the linear map that a Fourier layer applies to each frequency."""

import abc
import math

import equinox as eqx
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import InputError
from ._layers import Draw
from ._spectrum import complex_matmul, transform_axes
from .parameters import ComplexArray, build_complex


class AbstractBuiltKernel(eqx.Module):
    """A complex matrix for each retained frequency."""

    @abc.abstractmethod
    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        """Multiply each frequency by its matrix.

        The axis of two holds real and imaginary parts.
        """


class AbstractKernel(eqx.Module):
    """Settings of the spectral weights: how they are stored."""

    @abc.abstractmethod
    def build(
        self, num_frequencies: tuple[int, ...], width: int, draw: Draw
    ) -> AbstractBuiltKernel:
        """Draw random weights that preserve the mean square of a spectrum.

        `num_frequencies` holds the retained frequencies of each axis, `width` the
        channels in and out. `draw(shape, deviation, mean=0.0)` gives random arrays.
        """


class DenseWeights(AbstractBuiltKernel):
    """The weights of `DenseKernel`: `[*kept, channels, channels]`."""

    matrix: ComplexArray

    @override
    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        return complex_matmul(spectrum, self.matrix.stack(-3))


class DenseKernel(AbstractKernel):
    """An independent matrix for each frequency (Li et al., 2021)."""

    @override
    def build(
        self, num_frequencies: tuple[int, ...], width: int, draw: Draw
    ) -> DenseWeights:
        shape = (*num_frequencies, width, width)
        return DenseWeights(build_complex(shape, 1 / math.sqrt(width), draw))


class TuckerWeights(AbstractBuiltKernel):
    """The weights of `TuckerKernel`: the core `[*ranks, rank_in, rank_out]`, a factor
    `[kept, rank]` for each axis, and `[channels, rank_in]`, `[rank_out, channels]`."""

    core: ComplexArray
    axes: list[ComplexArray]
    inward: ComplexArray
    outward: ComplexArray

    @override
    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        """Expand the core along frequencies, but multiply spectra along channels.

        The expansion is shared by all functions. Along channels the product with each
        spectrum costs less, unless there are more functions than channels.
        """
        expanded = transform_axes(self.core.stack(0), self.axes)
        narrowed = complex_matmul(spectrum, self.inward.stack(0))
        mixed = complex_matmul(narrowed, expanded)
        return complex_matmul(mixed, self.outward.stack(0))


class TuckerKernel(AbstractKernel):
    """A Tucker factorisation: a core times a factor along each axis (Kossaifi et al.,
    2023).

    `rank` is the size of the core along each axis, as a fraction of the full size. In
    three dimensions `rank=0.5` stores 1/32 of all weights in the core; `rank=1` saves
    nothing.
    """

    rank: float = 0.5

    def __check_init__(self):
        if not 0 < self.rank <= 1:
            raise InputError(
                "`rank` must be a fraction of each axis, more than 0 and at most 1, "
                f"got {self.rank}."
            )

    @override
    def build(
        self, num_frequencies: tuple[int, ...], width: int, draw: Draw
    ) -> TuckerWeights:
        """Draw core and factors, all with one standard deviation."""
        sizes = (*num_frequencies, width, width)
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
