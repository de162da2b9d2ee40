"""The floating type that was asked for, or a clear refusal."""

from typing import Any

import jax
import jax.numpy as jnp

from .errors import InputError


def float_dtype(dtype: Any = None) -> jnp.dtype:
    """`dtype`, or JAX's default float; never float32 where float64 was asked for."""
    dtype = jnp.dtype(jnp.result_type(float) if dtype is None else dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise InputError(f"`dtype` must be a floating type, got {dtype}.")
    if dtype == jnp.float64 and not jax.config.read("jax_enable_x64"):
        raise InputError(
            "`dtype=float64` was asked for, but JAX would make it float32: call "
            '`jax.config.update("jax_enable_x64", True)` when the program starts.'
        )
    return dtype
