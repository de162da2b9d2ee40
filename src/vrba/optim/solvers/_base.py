"""The interface of a solver of `(J'J + damping I) x = b`."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...core import InputError, check_count
from ..least_squares import AbstractLeastSquares

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class AbstractSystem(eqx.Module):
    """What is known of `J` and `r` at the current parameters.

    `pulled` is `J'r`; `scale` is the trace of `J'J` or what stands for it, against
    which a damping is large or small.
    """

    pulled: eqx.AbstractVar[Any]
    scale: eqx.AbstractVar[Any]


class AbstractSolver(eqx.Module):
    """Assembles once a step, factors once for each damping, solves twice with it."""

    @property
    @abc.abstractmethod
    def is_compiled(self) -> bool:
        """Whether a step may be compiled."""

    @property
    @abc.abstractmethod
    def num_matrices(self) -> int:
        """How many matrices of `params` by `params` numbers a step holds at most."""

    @abc.abstractmethod
    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> Any:
        """A system, given the last damping as a share of its scale."""

    @abc.abstractmethod
    def smallest(self, system: Any) -> Scalar:
        """The smallest damping that the system is good for, as a share of its scale."""

    @abc.abstractmethod
    def factor(self, system: Any, damping: Scalar) -> Any:
        """What solving with this damping needs."""

    @abc.abstractmethod
    def step(self, factor: Any) -> Vector:
        """`-(J'J + damping I)^-1 J'r`; not finite where that fails."""

    @abc.abstractmethod
    def solve(self, factor: Any, vector: Vector) -> Vector:
        """`(J'J + damping I)^-1 vector`."""

    @abc.abstractmethod
    def loop(
        self, go_on: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any
    ) -> Any:
        """`body` while `go_on`: compiled, or in Python."""


def find_qr_below(qr_below: float | None, dtype: Any) -> float:
    """The relative damping below which `J'J` has lost the digits that matter: if it is
    not given, where its rounding is as large as the damping."""
    return float(jnp.finfo(dtype).eps) if qr_below is None else qr_below


def smallest_damping(
    is_root: Bool[Array, ""] | bool, qr_below: float | None, dtype: Any
) -> Scalar:
    """Just below the limit, so that the next step goes over to QR, or next to none."""
    least = float(jnp.finfo(dtype).eps) ** 2
    limit = max(0.9 * find_qr_below(qr_below, dtype), least)
    return jnp.where(is_root, least, limit).astype(dtype)


INSTEAD = "take `solver=ConjugateGradients()` or an optimizer such as `Adam()`"


def check_settings(qr_below: float | None, max_params: int) -> None:
    """A share of the trace, or none; a number of parameters."""
    check_count(max_params=max_params)
    if qr_below is not None and not qr_below >= 0:
        raise InputError(f"`qr_below` must not be negative, got {qr_below}.")
