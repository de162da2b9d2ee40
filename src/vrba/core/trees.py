"""Choices between whole pytrees."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def select_tree(condition: Bool[Array, ""], this: Any, that: Any) -> Any:
    """`this` where the condition holds, else `that`, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), this, that)
