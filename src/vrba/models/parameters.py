"""Complex parameters, and the number of parameters of a model."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import InputError
from ._layers import Draw

_ARRAYS = (jax.Array, np.ndarray, jax.ShapeDtypeStruct)


class ComplexArray(eqx.Module):
    """Complex numbers as two real arrays, so that any optimizer can train them.

    JAX's gradient of a complex parameter is the conjugate of the steepest ascent: most
    optimizers would ascend along the imaginary part.
    """

    real: Float[Array, "*shape"]
    imag: Float[Array, "*shape"]

    @property
    def size(self) -> int:
        """The number of complex numbers."""
        return self.real.size

    def stack(self, axis: int) -> Float[Array, "..."]:
        """Return one real array with real and imaginary parts along a new axis."""
        return jnp.stack([self.real, self.imag], axis)


def build_complex(shape: tuple[int, ...], deviation: float, draw: Draw) -> ComplexArray:
    """Draw complex numbers with mean square magnitude `deviation**2`."""
    part_deviation = deviation / 2**0.5
    return ComplexArray(draw(shape, part_deviation), draw(shape, part_deviation))


def count_params(model: Any, *, complex_as: int = 1) -> int:
    """Count the floating-point parameters of a model, or of its `jax.eval_shape`.

    A complex number counts as `complex_as` parameters, 1 or 2.
    """
    if complex_as not in (1, 2):
        raise InputError(f"`complex_as` must be 1 or 2, got {complex_as}.")
    total = 0
    for leaf in jax.tree.leaves(model, is_leaf=_is_complex_array):
        if _is_complex_array(leaf) or _has_dtype(leaf, jnp.complexfloating):
            total += leaf.size * complex_as
        elif _has_dtype(leaf, jnp.floating):
            total += leaf.size
    return total


def _is_complex_array(node: Any) -> bool:
    return isinstance(node, ComplexArray)


def _has_dtype(leaf: Any, kind: Any) -> bool:
    """Whether a leaf is an array of this kind of numbers."""
    return isinstance(leaf, _ARRAYS) and jnp.issubdtype(leaf.dtype, kind)
