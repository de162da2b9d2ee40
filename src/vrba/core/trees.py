"""Pytrees of parameters: as one real vector and back, cast, checked, selected."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .dtypes import float_dtype
from .errors import InputError


def flatten(
    params: Any,
) -> tuple[Float[Array, " params"], Callable[[Float[Array, " params"]], Any]]:
    """Return the floating arrays of `params` as one vector, and the inverse function.

    The inverse keeps all other leaves (functions, integers, Python numbers). A complex
    array contributes its real part, then its imaginary part.
    """
    leaves, treedef = jax.tree.flatten(params)
    is_trained = [_is_floating(leaf) for leaf in leaves]
    trained = [x for x, wanted in zip(leaves, is_trained, strict=True) if wanted]
    dtype = _common_dtype(trained)
    arrays = [jnp.asarray(x) for x in trained]
    parts = [to_real_vector(x) for x in arrays]
    ends = np.cumsum([part.size for part in parts])[:-1].tolist()

    def unflatten(vector: Float[Array, " params"]) -> Any:
        pieces = iter(jnp.split(vector, ends))
        shapes = iter(arrays)
        new = [
            _from_reals(next(pieces), next(shapes)) if wanted else leaf
            for leaf, wanted in zip(leaves, is_trained, strict=True)
        ]
        return jax.tree.unflatten(treedef, new)

    return jnp.concatenate(parts).astype(dtype), unflatten


def flatten_gradient(gradient: Any) -> Float[Array, " params"]:
    """Flatten a gradient computed by JAX, in the order of `flatten`.

    For a complex leaf JAX returns the conjugate of the direction of steepest ascent.
    """
    arrays = [leaf for leaf in jax.tree.leaves(gradient) if _is_floating(leaf)]
    return jnp.concatenate([to_real_vector(jnp.conj(jnp.asarray(x))) for x in arrays])


def to_jax_arrays(params: Any) -> Any:
    """Convert floating leaves to strongly typed JAX arrays; keep all other leaves.

    A compiled loop can carry such leaves, and its result as new input does not cause
    another compilation.
    """
    strong = lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype)
    return jax.tree.map(lambda x: strong(x) if _is_floating(x) else x, params)


def cast_floats(tree: Any, dtype: Any) -> Any:
    """Cast real floating arrays to `dtype`; keep all other leaves."""
    is_real = lambda leaf: eqx.is_inexact_array(leaf) and jnp.isrealobj(leaf)
    cast = lambda leaf: leaf.astype(dtype) if is_real(leaf) else leaf
    return jax.tree.map(cast, tree)


def check_float64_enabled(params: Any) -> None:
    """Raise if a leaf is float64 while JAX would silently use float32."""
    for leaf in jax.tree.leaves(params):
        if _is_floating(leaf):
            float_dtype(leaf.real.dtype)


def _is_floating(leaf: Any) -> bool:
    """Whether a leaf is a real or complex floating array."""
    is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic)
    return is_array and jnp.issubdtype(leaf.dtype, jnp.inexact)


def check_trainable(leaves: list[Any]) -> None:
    """Raise if there is no floating array to train."""
    if not leaves:
        raise InputError(
            "`params` has no floating array to train. Convert its numbers to arrays, "
            "for example with `jnp.asarray`."
        )


def check_matrix_size(
    vector: Float[Array, " params"], max_params: int, instead: str
) -> None:
    """Raise if a square matrix over the parameters would be too large."""
    if vector.size > max_params:
        size = vector.size**2 * vector.dtype.itemsize / 1e9
        raise InputError(
            f"`params` has {vector.size} numbers: a square matrix over them takes "
            f"{size:.1f} GB, above `max_params={max_params}`. Instead, {instead}, or "
            "raise `max_params`."
        )


def _common_dtype(leaves: list[Any]) -> jnp.dtype:
    """Return the floating type that all leaves share; raise if they differ."""
    check_trainable(leaves)
    found = {np.dtype(np.zeros((), x.dtype).real.dtype) for x in leaves}
    if len(found) > 1:
        names = ", ".join(sorted(str(dtype) for dtype in found))
        raise InputError(
            f"`params` mixes the types {names}, but the optimizer needs one type. "
            "Convert all arrays to one type with `jax.tree.map`."
        )
    return float_dtype(found.pop())


def to_real_vector(leaf: Array) -> Float[Array, " reals"]:
    """Flatten an array; a complex one becomes its real, then its imaginary part."""
    flat = jnp.ravel(leaf)
    if jnp.iscomplexobj(flat):
        return jnp.concatenate([flat.real, flat.imag])
    return flat


def _from_reals(part: Array, like: Array) -> Array:
    if jnp.iscomplexobj(like):
        real, imag = jnp.split(part, 2)
        part = jax.lax.complex(real, imag)
    return part.reshape(like.shape)


def select_tree(condition: Bool[Array, ""], this: Any, that: Any) -> Any:
    """Return `this` if the condition holds, else `that`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), this, that)
