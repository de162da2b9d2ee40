"""Damp an update whose curvature is too small or negative."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ...core import check_between
from ..updates import Secant
from ._base import AbstractCurvature
from .skip import is_usable


class Damp(AbstractCurvature):
    """Mix `y` with `Bs` until `y's >= share s'Bs`. (Powell 1978)

    Something is learnt from every step, at the price of a secant that is not exact.
    """

    share: float = 0.2

    def __check_init__(self):
        """Settings in range."""
        check_between(share=(self.share, 0.0, 1.0))

    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        """The mixed secant; used unless it is not finite."""
        curvature, wanted = secant.curvature, secant.hessian_curvature
        is_low = curvature < self.share * wanted
        gap = jnp.where(is_low, wanted - curvature, 1)
        own = jnp.where(is_low, (1 - self.share) * wanted / gap, 1)
        hessian_step = -secant.step_size * secant.gradient
        mixed = eqx.tree_at(
            lambda s: (s.gradient_change, s.inverse_change),
            secant,
            (
                own * secant.gradient_change + (1 - own) * hessian_step,
                own * secant.inverse_change + (1 - own) * secant.step,
            ),
        )
        return mixed, is_usable(mixed, 0.0)
