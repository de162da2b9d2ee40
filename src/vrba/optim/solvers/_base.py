"""The interface of a solver of the damped normal equations."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from ...core import InputError, check_count, check_matrix_size, flatten
from ..objectives import AbstractLeastSquares

Scalar = Float[Array, ""]
Vector = Float[Array, " params"]


class AbstractSystem(eqx.Module):
    """`J` and `r` at the current parameters, in the form that a solver needs.

    `half_gradient` is `J'r`. `scale` is the trace of `J'J`, or an estimate of its
    size; a relative damping is a damping divided by it.
    """

    half_gradient: eqx.AbstractVar[Any]
    scale: eqx.AbstractVar[Any]


class AbstractSolver(eqx.Module):
    """A solver of `(J'J + damping I) x = b`.

    It assembles the system once a step, factors it once for each damping, and solves
    twice with each factor.
    """

    @property
    @abc.abstractmethod
    def is_compiled(self) -> bool:
        """Whether a step can be compiled."""

    @property
    @abc.abstractmethod
    def num_matrices(self) -> int:
        """How many matrices of `params` by `params` numbers a step holds at most."""

    @abc.abstractmethod
    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> Any:
        """Return the system; `relative_damping` is that of the last step."""

    @abc.abstractmethod
    def min_damping(self, system: Any) -> Scalar:
        """Return the smallest relative damping that the system is accurate for."""

    @abc.abstractmethod
    def factor(self, system: Any, damping: Scalar) -> Any:
        """Return a factor of the damped system, for `step` and `solve`."""

    @abc.abstractmethod
    def step(self, factor: Any) -> Vector:
        """Return `-(J'J + damping I)^-1 J'r`; not finite where that fails."""

    @abc.abstractmethod
    def solve(self, factor: Any, vector: Vector) -> Vector:
        """Return `(J'J + damping I)^-1 vector`."""

    def loop(
        self,
        must_continue: Callable[[Any], Any],
        body: Callable[[Any], Any],
        carry: Any,
    ) -> Any:
        """Repeat `body` while `must_continue`: compiled, or in Python."""
        if self.is_compiled:
            return jax.lax.while_loop(must_continue, body, carry)
        while must_continue(carry):
            carry = body(carry)
        return carry


class AbstractCholesky(AbstractSolver):
    """A solver with a dense matrix: Cholesky, or QR after a tiny damping.

    Rounding of `J'J` changes the step where the damping is below about the machine
    precision times its trace. Below `qr_below`, by default the precision, the solver
    therefore factors `J` itself by QR, at a higher cost.
    """

    qr_below: eqx.AbstractVar[float | None]
    max_params: eqx.AbstractVar[int]

    def __check_init__(self):
        """Check that the settings are in range."""
        check_count(max_params=self.max_params)
        if self.qr_below is not None and not self.qr_below >= 0:
            raise InputError(f"`qr_below` must not be negative, got {self.qr_below}.")

    @override
    def min_damping(self, system: Any) -> Scalar:
        """Return a damping just below the limit of QR; after QR almost zero.

        A damping that small makes the next step use QR.
        """
        dtype = system.half_gradient.dtype
        least = float(jnp.finfo(dtype).eps) ** 2
        limit = max(0.9 * self.qr_limit(dtype), least)
        return jnp.where(system.is_triangle, least, limit).astype(dtype)

    def qr_limit(self, dtype: Any) -> float:
        """Return the relative damping below which `J` is factored by QR."""
        eps = float(jnp.finfo(dtype).eps)
        return eps if self.qr_below is None else self.qr_below

    def check_size(self, params: Any) -> None:
        """Raise if there are more than `max_params` parameters."""
        instead = "use `solver=ConjugateGradients()` or an optimizer such as `Adam()`"
        check_matrix_size(flatten(params)[0], self.max_params, instead)
