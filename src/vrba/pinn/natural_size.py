"""Residuals beside the size of the terms that they are made of."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problems import EQUATIONS, AbstractBoundaryCondition, Data, Initial
from .evaluator import Evaluator, Rows, TermFn

_NUM_ROWS = 2048  # of each term


def residual_shares(
    evaluator: Evaluator, params: Any, held_out: dict[str, Rows]
) -> dict[str, float]:
    """Return the residual of each term relative to its natural size.

    The size of `u.t - u.xx - f` is the root mean square of `u.t`, `u.xx` and `f`
    together. The fields of boundary and initial conditions count with their size
    inside the domain: `u = 0` would have no size otherwise. Measured values are left
    out: their noise is no error.
    """
    conditions = evaluator.formulation.conditions
    kept = {
        name: jax.tree.map(lambda leaf: leaf[:_NUM_ROWS], rows)
        for name, rows in held_out.items()
        if not isinstance(conditions.get(name), Data)
    }
    terms = {name: evaluator.terms[name] for name in kept}
    kinds = AbstractBoundaryCondition | Initial
    local = [name for name in kept if isinstance(conditions.get(name), kinds)]
    inside = jax.tree.map(lambda leaf: leaf[:_NUM_ROWS], held_out[EQUATIONS])[0]
    found = _shares(terms, params, kept, inside, tuple(local))
    return {name: float(share) for name, share in found.items()}


@eqx.filter_jit
def _shares(
    terms: dict[str, TermFn],
    params: Any,
    rows: dict[str, Rows],
    inside: Float[Array, "points dim"],
    local: tuple[str, ...],
) -> dict[str, Float[Array, ""]]:
    found = {}
    for name, term in terms.items():
        parts = jax.vmap(lambda row, term=term: term.parts(params, row))(rows[name])
        squares = parts["values"] ** 2
        if name in local:
            values = jax.vmap(lambda point, term=term: term.values(params, point))
            squares = squares + jnp.mean(values(inside) ** 2, axis=0)[None]
        squares = _finite(parts["slopes"] ** 2 * squares[:, None])
        total = jnp.sum(squares, axis=2) + _finite(parts["rest"] ** 2)
        size = jnp.sqrt(jnp.mean(total, axis=0))
        residual = jnp.sqrt(jnp.mean(parts["residual"] ** 2, axis=0))
        found[name] = jnp.max(jnp.where(residual > 0, residual / size, 0.0))
    return found


def _finite(values: Array) -> Array:
    return jnp.where(jnp.isfinite(values), values, 0.0)
