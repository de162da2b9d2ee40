"""Conjugate gradients on `J'J`, for more parameters than a matrix has room for."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

from ...core import check_between, check_count
from ..least_squares import AbstractLeastSquares, pull_back
from ._base import AbstractSolver, AbstractSystem, Scalar, Vector


class ImplicitSystem(AbstractSystem):
    """The parameters, and `J` as what it does to vectors."""

    pulled: Vector
    scale: Scalar
    objective: AbstractLeastSquares
    params: Any


class DampedSystem(eqx.Module):
    """A system with its damping."""

    system: ImplicitSystem
    damping: Scalar


class ConjugateGradients(AbstractSolver):
    """Products `J'(J v)` by automatic differentiation, never a matrix.

    An iteration is one product forwards and one backwards. `tolerance` is relative.
    After `max_iterations` what is reached is taken, still a direction of descent.
    """

    tolerance: float = 1e-6
    max_iterations: int = 200

    def __check_init__(self):
        """Settings in range."""
        check_between(tolerance=(self.tolerance, 0.0, 1.0))
        check_count(max_iterations=self.max_iterations)

    @property
    def is_compiled(self) -> bool:
        """A step can be compiled."""
        return True

    @property
    def num_matrices(self) -> int:
        """Only products with `J`."""
        return 0

    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> ImplicitSystem:
        """`J'r`, and how much `J` stretches it in place of the trace."""
        pulled = pull_back(objective, params, lambda residual, at: residual(at))
        length = jnp.vdot(pulled, pulled)
        stretched = jnp.vdot(pulled, _normal_product(objective, params, pulled))
        scale = jnp.where(length > 0, stretched / length, 1)
        return ImplicitSystem(pulled, scale, objective, params)

    def smallest(self, system: ImplicitSystem) -> Scalar:
        """Next to none."""
        eps = jnp.finfo(system.pulled.dtype).eps
        return jnp.asarray(eps**2, system.pulled.dtype)

    def factor(self, system: ImplicitSystem, damping: Scalar) -> DampedSystem:
        """Nothing to factor."""
        return DampedSystem(system, damping)

    def step(self, factor: DampedSystem) -> Vector:
        """By conjugate gradients."""
        return -self.solve(factor, factor.system.pulled)

    def solve(self, factor: DampedSystem, vector: Vector) -> Vector:
        """By conjugate gradients, of a vector scaled to length one."""
        system = factor.system
        length = jnp.linalg.norm(vector)
        unit = vector / jnp.where(length > 0, length, 1)

        def product(vector):
            product = _normal_product(system.objective, system.params, vector)
            return product + factor.damping * vector

        shape = jax.ShapeDtypeStruct(vector.shape, vector.dtype)
        tags = lx.positive_semidefinite_tag
        operator = lx.FunctionLinearOperator(product, shape, tags)
        method = lx.CG(self.tolerance, self.tolerance, max_steps=self.max_iterations)
        solution = lx.linear_solve(operator, unit, method, throw=False)
        return length * solution.value

    def loop(
        self, go_on: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any
    ) -> Any:
        """Compiled."""
        return jax.lax.while_loop(go_on, body, carry)


def _normal_product(
    objective: AbstractLeastSquares, params: Any, vector: Vector
) -> Vector:
    """`J'(J v)`, block by block."""
    push = lambda residual, at: jax.jvp(residual, (at,), (vector,))[1]
    return pull_back(objective, params, push)
