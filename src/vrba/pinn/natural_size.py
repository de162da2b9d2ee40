"""Residuals beside the size of the terms that they are made of."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problems import Data
from .evaluator import Evaluator, Rows, TermFn

_NUM_ROWS = 2048  # of each term


def residual_shares(
    evaluator: Evaluator, params: Any, held_out: dict[str, Rows]
) -> dict[str, float]:
    """Return the residual of each term relative to its natural size.

    The size of `u.t - u.xx - f` is the root mean square of `u.t`, `u.xx` and `f`
    together. Measured values are left out: their noise is no error.
    """
    conditions = evaluator.formulation.conditions
    kept = {
        name: jax.tree.map(lambda leaf: leaf[:_NUM_ROWS], rows)
        for name, rows in held_out.items()
        if not isinstance(conditions.get(name), Data)
    }
    terms = {name: evaluator.terms[name] for name in kept}
    found = _shares(terms, params, kept)
    return {name: float(share) for name, share in found.items()}


@eqx.filter_jit
def _shares(
    terms: dict[str, TermFn], params: Any, rows: dict[str, Rows]
) -> dict[str, Float[Array, ""]]:
    found = {}
    for name, term in terms.items():
        parts = jax.vmap(lambda row, term=term: term.parts(params, row))(rows[name])
        residual = jnp.sqrt(jnp.mean(parts["residual"] ** 2, axis=0))
        squares = jnp.where(jnp.isfinite(parts["terms"]), parts["terms"] ** 2, 0.0)
        size = jnp.sqrt(jnp.mean(jnp.sum(squares, axis=2), axis=0))
        share = jnp.where(residual > 0, residual / size, 0.0)
        found[name] = jnp.max(share)
    return found
