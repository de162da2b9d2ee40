"""How strongly residuals depend on the parameters of a network."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core import flatten
from ..runs import random_stream
from .evaluator import Evaluator, Rows, TermFn

NUM_ROWS = 512  # of each term
_NUM_DIRECTIONS = 32


class TermDifference(eqx.Module):
    """The difference between the residuals of two terms."""

    first: TermFn
    second: TermFn

    def __call__(self, params: Any, row: Any) -> Float[Array, " eqs"]:
        """Return the difference at one point."""
        return self.first(params, row) - self.second(params, row)


def traces_of(
    evaluator: Evaluator, terms: dict[str, Any], params: Any, rows: dict[str, Rows]
) -> dict[str, float]:
    """Return the mean of `|dr/dtheta|^2` over the rows of each term.

    It is estimated along random directions. (Hutchinson 1990)
    """
    key = random_stream(evaluator.root, 3)
    found = _traces(terms, params, rows, key)
    return {name: float(value) for name, value in found.items()}


@eqx.filter_jit
def _traces(
    terms: dict[str, Any], params: Any, rows: dict[str, Rows], key: Key[Array, ""]
) -> dict[str, Float[Array, ""]]:
    vector, rebuild = flatten(params)

    def along(key):
        direction = rebuild(jax.random.normal(key, vector.shape, vector.dtype))
        found = {}
        for name, term in terms.items():
            fn = lambda params, term=term, part=rows[name]: jax.vmap(
                lambda row: term(params, row)
            )(part)
            found[name] = jnp.mean(jax.jvp(fn, (params,), (direction,))[1] ** 2)
        return found

    found = jax.lax.map(along, jax.random.split(key, _NUM_DIRECTIONS))
    return jax.tree.map(jnp.mean, found)
