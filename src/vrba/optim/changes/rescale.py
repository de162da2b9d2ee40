"""Rescale the inverse Hessian with the objective."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...core import InputError
from ._base import AbstractChange, Vector


class Rescale(AbstractChange):
    """The new objective is a multiple of the old one, as when weights change.

    Factor `sqrt(g'Hg / G'HG)` with `g` the old and `G` the new gradient: exact if
    `G = c g`. It is kept within `1/limit` and `limit`.
    """

    limit: float = 100.0

    def __check_init__(self):
        """Settings in range."""
        if not self.limit >= 1:
            raise InputError(f"`limit` must be at least 1, got {self.limit}.")

    def judge(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """The factor, nothing forgotten."""
        old, new = jnp.vdot(old_gradient, old_direction), jnp.vdot(gradient, direction)
        ratio = jnp.sqrt(jnp.where((old < 0) & (new < 0), old / new, 1))
        return jnp.clip(ratio, 1 / self.limit, self.limit), jnp.zeros((), bool)
