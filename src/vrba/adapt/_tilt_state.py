"""The state of a tilt: weights by id, the base before the tilt, and the last scale."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..core import InputError, Status, float_dtype
from .smoothing import Smoothing
from .temperatures import Scale


class TiltState(eqx.Module):
    """What the next update needs, keyed by point id along the first axis.

    Weights may be kept in fewer digits than the scale, in whose dtype all is computed.
    """

    weight: Float[Array, "ids *rest"]  # lambda
    base: Float[Array, "ids *rest"] | None  # probability before the tilt; None: uniform
    scale: Scale
    num_updates: Int[Array, ""]
    status: Status
    num_rejected: Int[Array, ""]  # NaN or infinite residuals in the last update
    point_base: Float[Array, "ids *points"] | None = None  # where weights are of cells

    @property
    def dtype(self) -> jnp.dtype:
        """What all arithmetic is done in."""
        return self.scale.peak.dtype


def check_base(
    base: Float[Array | np.ndarray, "..."], shape: tuple[int, ...], dtype: jnp.dtype
) -> Float[Array, "..."]:
    """The base brought to sum one; an error unless it is a distribution's multiple."""
    numbers = jnp.asarray(base, dtype)
    if numbers.shape != shape:
        raise InputError(f"`base` must have shape {shape}, got {numbers.shape}.")
    total = jnp.sum(numbers)
    is_good = jnp.all(numbers >= 0) & jnp.isfinite(total) & (total > 0)
    message = "`base` must hold finite numbers >= 0, not all of them zero."
    return eqx.error_if(numbers, ~is_good, message) / total


def init_tilt(
    smoothing: Smoothing,
    shape: tuple[int, ...],
    base: Float[Array | np.ndarray, "..."] | None,
    dtype: Any,
    separate_axis: int | None,
    weight_dtype: Any = None,
    point_base: Float[Array, "..."] | None = None,
) -> TiltState:
    """Equal weights everywhere; `base` is brought to sum one."""
    dtype = float_dtype(dtype)
    if base is not None:
        base = check_base(base, shape, dtype)
    tilts = () if separate_axis is None else (shape[separate_axis],)
    return TiltState(
        weight=jnp.full(shape, smoothing.start(), weight_dtype or dtype),
        base=base,
        scale=Scale(
            temperature=jnp.ones(tilts, dtype),
            anchor=jnp.zeros(tilts, dtype),
            offset=jnp.zeros(tilts, dtype),
            peak=jnp.zeros(tilts, dtype),
            top_weight=jnp.ones(tilts, dtype),
            count=jnp.zeros(tilts, jnp.int32),
        ),
        num_updates=jnp.zeros((), jnp.int32),
        status=Status.ok,
        num_rejected=jnp.zeros((), jnp.int32),
        point_base=point_base,
    )


def untilted(state: TiltState) -> Float[Array, "ids *rest"]:
    """The base, spelt out where it is uniform."""
    if state.base is not None:
        return state.base
    return jnp.full(state.weight.shape, 1 / state.weight.size, state.dtype)
