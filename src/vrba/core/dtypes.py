"""Floating-point types: check a requested one, or work in it temporarily."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

from .errors import InputError


def float_dtype(dtype: Any = None) -> jnp.dtype:
    """Return `dtype` as a `jnp.dtype`; JAX's default float if it is `None`.

    Raise if `dtype` is not floating, or if it is float64 while JAX would silently
    use float32.
    """
    dtype = jnp.dtype(jnp.result_type(float) if dtype is None else dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise InputError(f"`dtype` must be a floating type, got {dtype}.")
    if dtype == jnp.float64 and not jax.config.read("jax_enable_x64"):
        raise InputError(
            "`dtype=float64` needs 64-bit mode, which is off in JAX. Call "
            '`jax.config.update("jax_enable_x64", True)` when the program starts.'
        )
    return dtype


def use_precision(dtype: Any) -> AbstractContextManager[Any]:
    """Return a context in which JAX keeps arrays of `dtype`, whatever its default."""
    if jnp.dtype(dtype) == jnp.float64 and not jax.config.read("jax_enable_x64"):
        return jax.enable_x64(True)
    return nullcontext()
