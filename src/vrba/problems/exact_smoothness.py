"""Whether exact conditions are as smooth as an equation needs.

An ansatz keeps jumps and kinks of the given values for any network. The residual does
not show them: automatic differentiation sees both sides of a kink, and never the kink.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AbstractDomain
from .exact import EndCondition, ExactConditions
from .exact_shapes import ShapePiece
from .unknowns import attach_unknowns

_NUM_LINES = 8  # along each coordinate
_NUM_POINTS = 1025  # of a line, odd; and every second of them
_LEAST_FALL = 0.5  # of the mismatch with twice as many points; a jump stays
_TOLERANCE = 1e-6  # of the largest value
_NUM_PLACES = 2048  # where the residual of the known part is checked
_NUM_PEAKS, _PEAK_SHARE = 2, 0.5  # so few points have so much of the sum of squares


def why_rough(
    form: ExactConditions,
    domain: AbstractDomain,
    orders: dict[str, int],
    periodic: tuple[str, ...],
) -> str:
    """Say which given values are not smooth enough; empty if all are.

    `orders` are the highest orders of derivatives by each coordinate. All lower ones
    must be continuous, across the ends of a `periodic` coordinate too.
    """
    for parts in _parts_by_condition(form):
        first = parts[0]
        if not callable(first.condition.value):
            continue
        fixed = [one.coordinate for one in parts if isinstance(one, EndCondition)]
        for name, order in orders.items():
            if not order or name in fixed:
                continue
            lines = _lines_of(parts, domain, name)
            values = _derivatives(first, domain, name, order, lines)
            if not _is_smooth(values, lines, domain, name, name in periodic):
                return (
                    f"the values of `{first.name}`, or their derivatives, jump along "
                    f"`{name}`, and an ansatz would keep the jump"
                )
    return ""


def why_singular(residual: Any) -> str:
    """Say why the residual without a network is no start for training, or nothing."""
    formulation = residual.formulation
    points = jnp.asarray(formulation.domain.sample(_NUM_PLACES, seed=0), float)
    zeros = lambda inputs: jnp.zeros(formulation.num_outputs, inputs.dtype)
    network = attach_unknowns(zeros, formulation.problem.unknowns, points.dtype)
    embedding = lambda *point: jnp.stack(point)
    rows = points, jnp.zeros((len(points), 0), points.dtype)
    found = jax.jit(jax.vmap(lambda row: residual(embedding, network, row)))(rows)
    squares = jnp.sort(jnp.sum(found**2, axis=1))
    if not jnp.all(jnp.isfinite(squares)):
        return "their interpolation has a residual that is not finite"
    if jnp.sum(squares[-_NUM_PEAKS:]) > _PEAK_SHARE * jnp.sum(squares):
        return "their interpolation has a nearly singular residual"
    return ""


def _parts_by_condition(form: ExactConditions) -> list[list[EndCondition | ShapePiece]]:
    """Return the parts of each condition; those of a box across each coordinate."""
    found: dict[Any, list[EndCondition | ShapePiece]] = {}
    for field in form.fields:
        if field is None:
            continue
        for axis in field.axes:
            for one in axis.given:
                found.setdefault((one.name, one.coordinate), []).append(one)
        for one in field.pieces:
            found.setdefault((one.name, None), []).append(one)
    return list(found.values())


def _lines_of(
    parts: list[EndCondition | ShapePiece], domain: AbstractDomain, name: str
) -> Float[np.ndarray, "lines points dim"]:
    """Return points on lines along a coordinate, on each face that a condition has."""
    places = domain.sample(_NUM_LINES, seed=0)
    lines = np.repeat(places[:, None, :], _NUM_POINTS, axis=1)
    lines[:, :, domain.position(name)] = np.linspace(*domain.bounds(name), _NUM_POINTS)
    found = []
    for one in parts:
        if isinstance(one, EndCondition):
            face = lines.copy()
            face[:, :, domain.position(one.coordinate)] = one.end
            found.append(face)
    return np.concatenate(found or [lines])


def _derivatives(
    one: EndCondition | ShapePiece,
    domain: AbstractDomain,
    name: str,
    order: int,
    lines: Float[np.ndarray, "lines points dim"],
) -> Float[np.ndarray, "orders lines points"]:
    """Return the given values and their derivatives along a coordinate."""
    names, place = domain.coordinates, domain.position(name)

    def at(row: Array) -> Array:
        fn = lambda x: one.value(dict(zip(names, row, strict=True)) | {name: x})
        found = [fn]
        for _ in range(order):
            fn = lambda x, fn=fn: jax.jvp(fn, (x,), (jnp.ones_like(x),))[1]
            found.append(fn)
        return jnp.stack([each(row[place]) for each in found])

    found = jax.jit(jax.vmap(jax.vmap(at)))(jnp.asarray(lines, float))
    return np.moveaxis(np.asarray(found), -1, 0)


def _is_smooth(
    values: Float[np.ndarray, "orders lines points"],
    lines: Float[np.ndarray, "lines points dim"],
    domain: AbstractDomain,
    name: str,
    is_periodic: bool,
) -> bool:
    """Whether all derivatives but the highest are integrals of the next one.

    The trapezoidal rule misses a jump by as much with twice as many points.
    """
    inside = domain.contains(lines.reshape(-1, lines.shape[-1]))
    values = np.where(inside.reshape(lines.shape[:2]), values, np.nan)
    place = domain.position(name)
    step = float(lines[0, 1, place] - lines[0, 0, place])
    coarse, fine = _mismatches(values[:, :, ::2], 2 * step), _mismatches(values, step)
    sizes = np.nanmax(np.abs(values[:-1]), axis=(1, 2))
    if np.any(fine > np.maximum(_TOLERANCE * sizes, _LEAST_FALL * coarse)):
        return False
    ends = np.abs(values[:-1, :, -1] - values[:-1, :, 0])
    return not is_periodic or not np.any(ends > _TOLERANCE * sizes[:, None])


def _mismatches(
    values: Float[np.ndarray, "orders lines points"], step: float
) -> Float[np.ndarray, " lower_orders"]:
    """Return the largest distance between a difference and the integral of the next
    derivative."""
    change = np.diff(values[:-1], axis=2)
    integral = step * (values[1:, :, 1:] + values[1:, :, :-1]) / 2
    return np.nanmax(np.abs(change - integral), axis=(1, 2), initial=0.0)
