"""How the terms of the loss are weighed against each other."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import check_between

Numbers = dict[str, Float[Array, ""]]


class BalanceState(eqx.Module):
    """The smoothed gradient norm of each term, and the factor of its weight."""

    norms: Numbers
    factors: Numbers


class AbstractBalance(eqx.Module):
    """Factors of the terms' weights, changed when points are redrawn."""

    @property
    @abc.abstractmethod
    def needs_gradients(self) -> bool:
        """Whether `update` needs the gradient norm of each term."""

    @abc.abstractmethod
    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        """The state after seeing the gradient norms; `main` is the equations' term."""


class FixedBalance(AbstractBalance):
    """The weights that the conditions were given."""

    @property
    def needs_gradients(self) -> bool:
        """No."""
        return False

    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        """Nothing changes."""
        return state


class GradientNorms(AbstractBalance):
    """Factors that make the terms' gradients equally long, smoothed twice.

    `G <- memory G + (1 - memory) |grad L|`, then
    `m <- inertia m + (1 - inertia) G_equations / G`. (Toscano et al. 2025)
    """

    inertia: float = 0.9
    memory: float = 0.9

    def __check_init__(self):
        """Settings in range."""
        check_between(
            inertia=(self.inertia, -1e-12, 1.0), memory=(self.memory, -1e-12, 1.0)
        )

    @property
    def needs_gradients(self) -> bool:
        """Yes."""
        return True

    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        """Smoothed norms, and factors that follow their ratio."""
        smooth = {}
        for name, norm in norms.items():
            old = jnp.where(state.norms[name] > 0, state.norms[name], norm)
            smooth[name] = self.memory * old + (1 - self.memory) * norm
        factors = {}
        for name, factor in state.factors.items():
            ratio = smooth[main] / jnp.maximum(smooth[name], jnp.finfo(factor).tiny)
            is_usable = jnp.isfinite(ratio) & (ratio > 0)
            wanted = jnp.where(is_usable, ratio, factor)
            new = self.inertia * factor + (1 - self.inertia) * wanted
            factors[name] = factor if name == main else new
        return BalanceState(smooth, factors)
