"""A pytree of parameters as one vector of real numbers, and back."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .dtypes import float_dtype
from .errors import InputError


def flatten(
    params: Any,
) -> tuple[Float[Array, " params"], Callable[[Float[Array, " params"]], Any]]:
    """The floating arrays of `params` as one vector, and the way back.

    Other leaves (functions, integers, Python numbers) are kept as they are. A complex
    array becomes its real part, then its imaginary part.
    """
    leaves, treedef = jax.tree.flatten(params)
    is_trained = [_is_floating(leaf) for leaf in leaves]
    trained = [x for x, wanted in zip(leaves, is_trained, strict=True) if wanted]
    dtype = _common_dtype(trained)
    arrays = [jnp.asarray(x) for x in trained]
    parts = [as_reals(x) for x in arrays]
    ends = np.cumsum([part.size for part in parts])[:-1].tolist()

    def rebuild(vector: Float[Array, " params"]) -> Any:
        pieces = iter(jnp.split(vector, ends))
        shapes = iter(arrays)
        new = [
            _from_reals(next(pieces), next(shapes)) if wanted else leaf
            for leaf, wanted in zip(leaves, is_trained, strict=True)
        ]
        return jax.tree.unflatten(treedef, new)

    return jnp.concatenate(parts).astype(dtype), rebuild


def flatten_gradient(gradient: Any) -> Float[Array, " params"]:
    """A gradient, as JAX gives it, in the order of `flatten`.

    JAX's gradient of a complex leaf is the conjugate of the steepest ascent.
    """
    arrays = [leaf for leaf in jax.tree.leaves(gradient) if _is_floating(leaf)]
    return jnp.concatenate([as_reals(jnp.conj(jnp.asarray(x))) for x in arrays])


def as_arrays(params: Any) -> Any:
    """Floating leaves as JAX arrays with a type of their own, the rest as it is.

    So that a loop can carry them, and that a result compiles nothing anew as input.
    """
    strong = lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype)
    return jax.tree.map(lambda x: strong(x) if _is_floating(x) else x, params)


def with_dtype(tree: Any, dtype: Any) -> Any:
    """Real floating arrays in another type, the rest as it is."""
    is_real = lambda leaf: eqx.is_inexact_array(leaf) and jnp.isrealobj(leaf)
    cast = lambda leaf: leaf.astype(dtype) if is_real(leaf) else leaf
    return jax.tree.map(cast, tree)


def check_precision(params: Any) -> None:
    """Refuses float64 arrays where JAX would silently make them float32."""
    for leaf in jax.tree.leaves(params):
        if _is_floating(leaf):
            float_dtype(leaf.real.dtype)


def _is_floating(leaf: Any) -> bool:
    """Whether a leaf is an array of real or complex floating numbers."""
    is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic)
    return is_array and jnp.issubdtype(leaf.dtype, jnp.inexact)


def check_trained(leaves: list[Any]) -> None:
    """Refuses parameters without a floating array among them."""
    if not leaves:
        raise InputError(
            "`params` holds no floating array to train: turn its numbers into arrays, "
            "for example with `jnp.asarray`."
        )


def check_fits(vector: Float[Array, " params"], max_params: int, instead: str) -> None:
    """Refuses parameters whose matrix would fill the memory, and says what to do."""
    if vector.size > max_params:
        size = vector.size**2 * vector.dtype.itemsize / 1e9
        raise InputError(
            f"`params` has {vector.size} numbers, a matrix of their square would take "
            f"{size:.1f} GB: {instead}, or raise `max_params`."
        )


def _common_dtype(leaves: list[Any]) -> jnp.dtype:
    """The one floating type of all leaves, or an error that says what to do."""
    check_trained(leaves)
    found = {np.dtype(np.zeros((), x.dtype).real.dtype) for x in leaves}
    if len(found) > 1:
        names = ", ".join(sorted(str(dtype) for dtype in found))
        raise InputError(
            f"`params` mixes the types {names}: an optimizer that works on one vector "
            "needs one; convert them with `jax.tree.map`."
        )
    return float_dtype(found.pop())


def as_reals(leaf: Array) -> Float[Array, " reals"]:
    """An array as one vector; a complex one is its real, then its imaginary part."""
    flat = jnp.ravel(leaf)
    if jnp.iscomplexobj(flat):
        return jnp.concatenate([flat.real, flat.imag])
    return flat


def _from_reals(part: Array, like: Array) -> Array:
    if jnp.iscomplexobj(like):
        real, imag = jnp.split(part, 2)
        part = jax.lax.complex(real, imag)
    return part.reshape(like.shape)
