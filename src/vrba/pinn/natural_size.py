"""Residuals beside the size of the terms that they are made of."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problems import EQUATIONS, Data
from .evaluator import Evaluator, Rows, TermFn

_NUM_ROWS = 2048  # of each term


def residual_shares(
    evaluator: Evaluator, params: Any, held_out: dict[str, Rows]
) -> dict[str, float]:
    """Return the residual of each term relative to its natural size.

    The size of `u.t - u.xx - f` is the root mean square of `u.t`, `u.xx` and `f`
    together. A derivative counts at least with the size of its field inside the domain,
    over the lengths of the domain: `u = 0` and `u.xx = 0` would have no size otherwise.
    Measured values are left out: their noise is no error.
    """
    conditions = evaluator.formulation.conditions
    kept = {
        name: jax.tree.map(lambda leaf: leaf[:_NUM_ROWS], rows)
        for name, rows in held_out.items()
        if not isinstance(conditions.get(name), Data)
    }
    terms = {name: evaluator.terms[name] for name in kept}
    domain = evaluator.formulation.domain
    ends = [domain.bounds(name) for name in domain.coordinates]
    lengths = tuple(float(upper - lower) for lower, upper in ends)
    found = _shares(terms, params, kept, lengths)
    return {name: float(share) for name, share in found.items()}


@eqx.filter_jit
def _shares(
    terms: dict[str, TermFn],
    params: Any,
    rows: dict[str, Rows],
    lengths: tuple[float, ...],
) -> dict[str, Float[Array, ""]]:
    found, fields = {}, _field_sizes(terms[EQUATIONS], params, rows[EQUATIONS])
    for name, term in terms.items():
        parts = jax.vmap(lambda row, term=term: term.parts(params, row))(rows[name])
        total = _finite(parts["rest"] ** 2)
        for field, slopes in parts["slopes"].items():
            for index, slope in slopes.items():
                scale = _product(lengths, index)
                least = fields.get(field, 0.0) / scale**2
                squares = parts["values"][field][index] ** 2 + least
                total = total + _finite(slope**2 * squares[:, None])
        size = jnp.sqrt(jnp.mean(total, axis=0))
        residual = jnp.sqrt(jnp.mean(parts["residual"] ** 2, axis=0))
        found[name] = jnp.max(jnp.where(residual > 0, residual / size, 0.0))
    return found


def _field_sizes(term: TermFn, params: Any, rows: Rows) -> dict[str, Array]:
    """Return the mean square of each field at the points of the equations."""
    parts = jax.vmap(lambda row: term.parts(params, row))(rows)["values"]
    origins = {field: min(values) for field, values in parts.items()}
    return {
        field: jnp.mean(values[origins[field]] ** 2) for field, values in parts.items()
    }


def _product(lengths: tuple[float, ...], index: tuple[int, ...]) -> float:
    total = 1.0
    for length, count in zip(lengths, index, strict=True):
        total *= length**count
    return total


def _finite(values: Array) -> Array:
    return jnp.where(jnp.isfinite(values), values, 0.0)
