"""Forget the inverse Hessian."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._base import AbstractChange, Vector


class Reset(AbstractChange):
    """The new objective has little to do with the old one: begin anew."""

    def judge(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """All forgotten."""
        return jnp.ones_like(gradient[0]), jnp.ones((), bool)
