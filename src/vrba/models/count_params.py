"""How large a model is."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core import InputError
from .complex_array import ComplexArray

ARRAYS = (jax.Array, np.ndarray, jax.ShapeDtypeStruct)


def count_params(model: Any, *, complex_as: int = 1) -> int:
    """The numbers in the floating arrays of a model; a complex one counts as one or as
    two of them. What `jax.eval_shape` says of a model is enough."""
    if complex_as not in (1, 2):
        raise InputError(f"`complex_as` must be 1 or 2, got {complex_as}.")
    total = 0
    for leaf in jax.tree.leaves(model, is_leaf=_is_pair):
        if _is_pair(leaf) or _is_of(leaf, jnp.complexfloating):
            total += leaf.size * complex_as
        elif _is_of(leaf, jnp.floating):
            total += leaf.size
    return total


def _is_pair(node: Any) -> bool:
    return isinstance(node, ComplexArray)


def _is_of(leaf: Any, kind: Any) -> bool:
    """Whether a leaf is an array of this kind of numbers."""
    return isinstance(leaf, ARRAYS) and jnp.issubdtype(leaf.dtype, kind)
