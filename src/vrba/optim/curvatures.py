"""Curvatures: safeguards against steps along which the gradient does not grow."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool
from typing_extensions import override

from ..core import InputError, check_between
from .updates import Secant


class AbstractCurvature(eqx.Module):
    """A safeguard for updates: without positive curvature `y's` a secant is harmful."""

    @abc.abstractmethod
    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        """Return the secant for the update, and whether to update at all."""


class Skip(AbstractCurvature):
    """Skip the update unless `y's > threshold s'Bs` and `y's` is above round-off."""

    threshold: float = 1e-10

    def __check_init__(self):
        """Check that `threshold` is in range."""
        if not 0 <= self.threshold < 1:
            raise InputError(
                f"`threshold` must be at least 0 and below 1, got {self.threshold}."
            )

    @override
    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        return secant, _is_usable(secant, self.threshold)


class Damp(AbstractCurvature):
    """Mix `y` with `Bs` until `y's >= min_ratio s'Bs`. (Powell 1978)

    Every step updates the inverse Hessian, but a mixed secant is not exact. An update
    that is not finite is skipped.
    """

    min_ratio: float = 0.2

    def __check_init__(self):
        """Check that `min_ratio` is in range."""
        check_between(min_ratio=(self.min_ratio, 0.0, 1.0))

    @override
    def guard(self, secant: Secant) -> tuple[Secant, Bool[Array, ""]]:
        curvature, hessian_curvature = secant.curvature, secant.hessian_curvature
        is_low = curvature < self.min_ratio * hessian_curvature
        gap = jnp.where(is_low, hessian_curvature - curvature, 1)
        mix = jnp.where(is_low, (1 - self.min_ratio) * hessian_curvature / gap, 1)
        hessian_step = -secant.step_size * secant.gradient
        mixed = eqx.tree_at(
            lambda s: (s.gradient_change, s.inverse_change),
            secant,
            (
                mix * secant.gradient_change + (1 - mix) * hessian_step,
                mix * secant.inverse_change + (1 - mix) * secant.step,
            ),
        )
        return mixed, _is_usable(mixed, 0.0)


def _is_usable(secant: Secant, threshold: float) -> Bool[Array, ""]:
    """Whether `y's` and `y'Hy` are positive, finite and above round-off."""
    lengths = jnp.linalg.norm(secant.gradient_change) * jnp.linalg.norm(secant.step)
    round_off = jnp.finfo(secant.step.dtype).eps * lengths
    curvature, inverse = secant.curvature, secant.inverse_curvature
    is_good = curvature > jnp.maximum(round_off, threshold * secant.hessian_curvature)
    return is_good & (inverse > 0) & jnp.isfinite(curvature) & jnp.isfinite(inverse)
