"""The interface of a kernel."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from .._draw import Draw


class AbstractBuiltKernel(eqx.Module):
    """A complex matrix for each frequency that is kept."""

    @abc.abstractmethod
    def __call__(
        self, spectrum: Float[Array, "*kept 2 channels"]
    ) -> Float[Array, "*kept 2 channels"]:
        """Each frequency times its matrix; the axis of two is real and imaginary."""


class AbstractKernel(eqx.Module):
    """How the weights of a Fourier layer are stored."""

    @abc.abstractmethod
    def build(
        self, num_kept: tuple[int, ...], width: int, draw: Draw
    ) -> AbstractBuiltKernel:
        """Random weights that keep the size of a spectrum on average.

        For so many frequencies of each axis, `width` channels in and out. Arrays come
        from `draw(shape, deviation, mean=0.0)`.
        """
