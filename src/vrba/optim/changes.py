"""Changes: how an inverse Hessian adapts to new points or weights."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from typing_extensions import override

from ..core import InputError

Vector = Float[Array, " params"]


class AbstractChange(eqx.Module):
    """A rule that rescales or resets the inverse Hessian when the objective changes."""

    @abc.abstractmethod
    def scale_and_reset(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """Return a factor of the inverse Hessian, and whether to reset it instead.

        The directions are `-H g` for the old and for the new gradient.
        """


class Keep(AbstractChange):
    """Keep the inverse Hessian, for new points of the same loss."""

    @override
    def scale_and_reset(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        return jnp.ones_like(gradient[0]), jnp.zeros((), bool)


class Rescale(AbstractChange):
    """Rescale the inverse Hessian, for weights that change the scale of the loss.

    The factor is `sqrt(g'Hg / G'HG)` with the old gradient `g` and the new one `G`:
    exact if `G = c g`. It is clipped to `1/limit` and `limit`.
    """

    limit: float = 100.0

    def __check_init__(self):
        """Check that `limit` is in range."""
        if not self.limit >= 1:
            raise InputError(f"`limit` must be at least 1, got {self.limit}.")

    @override
    def scale_and_reset(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        old, new = jnp.vdot(old_gradient, old_direction), jnp.vdot(gradient, direction)
        ratio = jnp.sqrt(jnp.where((old < 0) & (new < 0), old / new, 1))
        return jnp.clip(ratio, 1 / self.limit, self.limit), jnp.zeros((), bool)


class Reset(AbstractChange):
    """Reset the inverse Hessian, for an objective unlike the old one."""

    @override
    def scale_and_reset(
        self,
        old_gradient: Vector,
        old_direction: Vector,
        gradient: Vector,
        direction: Vector,
    ) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        return jnp.ones_like(gradient[0]), jnp.ones((), bool)
