"""Work in float64 where it was asked for, whatever the program's default is."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
from jax import enable_x64


def precision(dtype: Any) -> AbstractContextManager[Any]:
    """A context in which JAX keeps arrays of this type."""
    if jnp.dtype(dtype) == jnp.float64 and not jax.config.read("jax_enable_x64"):
        return enable_x64(True)
    return nullcontext()
