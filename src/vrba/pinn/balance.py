"""Balance of the terms of the loss against each other."""

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ..core import check_between

Numbers = dict[str, Float[Array, ""]]


class BalanceState(eqx.Module):
    """The smoothed gradient norm and the weight factor of each term."""

    norms: Numbers
    factors: Numbers


class AbstractBalance(eqx.Module):
    """Weight factors of the terms, updated when points are resampled."""

    @property
    @abc.abstractmethod
    def needs_gradients(self) -> bool:
        """Whether `update` needs the gradient norm of each term."""

    @abc.abstractmethod
    def initial_weights(
        self, traces_fn: Callable[[], dict[str, float]], main: str
    ) -> dict[str, float]:
        """Weights that are found before training; `traces_fn` gives, for each term, the
        mean of `|dr/dtheta|^2` over its residuals."""

    @abc.abstractmethod
    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        """The state after measuring gradient norms; `main` is that of the equations."""


class FixedBalance(AbstractBalance):
    """Constant factors: the weights of the conditions as given, or one."""

    @property
    @override
    def needs_gradients(self) -> bool:
        return False

    @override
    def initial_weights(
        self, traces_fn: Callable[[], dict[str, float]], main: str
    ) -> dict[str, float]:
        return {}

    @override
    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        return state


class TraceBalance(AbstractBalance):
    """Weights that give all terms equally sensitive residuals before training.

    The weight of a condition is `tr_e / tr_c`, with `tr = mean |dr/dtheta|^2` over the
    residuals of the equations and of the condition at the initial parameters. It is
    constant, and a weight of the condition's `Penalty` replaces it. (After Wang, Yu and
    Perdikaris 2022)
    """

    @property
    @override
    def needs_gradients(self) -> bool:
        return False

    @override
    def initial_weights(
        self, traces_fn: Callable[[], dict[str, float]], main: str
    ) -> dict[str, float]:
        traces = traces_fn()
        top = traces.pop(main)
        is_usable = lambda trace: 0 < trace < math.inf and 0 < top < math.inf
        return {n: top / trace for n, trace in traces.items() if is_usable(trace)}

    @override
    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
        return state


class GradientNorms(AbstractBalance):
    """Factors that give all terms equal gradient norms, smoothed twice.

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
    @override
    def needs_gradients(self) -> bool:
        return True

    @override
    def initial_weights(
        self, traces_fn: Callable[[], dict[str, float]], main: str
    ) -> dict[str, float]:
        return {}

    @override
    def update(self, state: BalanceState, norms: Numbers, main: str) -> BalanceState:
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
