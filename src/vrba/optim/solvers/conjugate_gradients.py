"""Conjugate gradients on `J'J`, for more parameters than a matrix fits in memory."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
from typing_extensions import override

from ...core import check_between, check_count
from ..objectives import AbstractLeastSquares, pull_back
from ._base import AbstractSolver, AbstractSystem, Scalar, Vector


class ImplicitSystem(AbstractSystem):
    """The parameters and the objective, for products of `J` with vectors."""

    half_gradient: Vector
    scale: Scalar
    objective: AbstractLeastSquares
    params: Any


class DampedSystem(eqx.Module):
    """A system and its damping."""

    system: ImplicitSystem
    damping: Scalar


class ConjugateGradients(AbstractSolver):
    """Products `J'(J v)` by automatic differentiation, without a matrix.

    An iteration takes one product in forward mode and one in reverse mode. `tolerance`
    is relative. After `max_iterations` the solver returns its last iterate, which is
    still a descent direction.
    """

    tolerance: float = 1e-6
    max_iterations: int = 200

    def __check_init__(self):
        """Check that the settings are in range."""
        check_between(tolerance=(self.tolerance, 0.0, 1.0))
        check_count(max_iterations=self.max_iterations)

    @property
    @override
    def is_compiled(self) -> bool:
        return True

    @property
    @override
    def num_matrices(self) -> int:
        """Only products with `J`."""
        return 0

    @override
    def assemble(
        self, objective: AbstractLeastSquares, params: Any, relative_damping: Scalar
    ) -> ImplicitSystem:
        """Return `J'r`, with its Rayleigh quotient of `J'J` instead of the trace."""
        half_gradient = pull_back(objective, params, lambda residual, at: residual(at))
        length = jnp.vdot(half_gradient, half_gradient)
        curvature = jnp.vdot(
            half_gradient, _normal_product(objective, params, half_gradient)
        )
        scale = jnp.where(length > 0, curvature / length, 1)
        return ImplicitSystem(half_gradient, scale, objective, params)

    @override
    def min_damping(self, system: ImplicitSystem) -> Scalar:
        eps = jnp.finfo(system.half_gradient.dtype).eps
        return jnp.asarray(eps**2, system.half_gradient.dtype)

    @override
    def factor(self, system: ImplicitSystem, damping: Scalar) -> DampedSystem:
        return DampedSystem(system, damping)

    @override
    def step(self, factor: DampedSystem) -> Vector:
        return -self.solve(factor, factor.system.half_gradient)

    @override
    def solve(self, factor: DampedSystem, vector: Vector) -> Vector:
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


def _normal_product(
    objective: AbstractLeastSquares, params: Any, vector: Vector
) -> Vector:
    """Return `J'(J v)`, block by block."""
    push = lambda residual, at: jax.jvp(residual, (at,), (vector,))[1]
    return pull_back(objective, params, push)
