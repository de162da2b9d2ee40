"""Burgers as a user writes it: with plain conditions."""

import math

import jax.numpy as jnp
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Burgers, Dirichlet, Initial, Problem, Reference


class PlainBurgers(Problem):
    """`u_t + u u_x = viscosity u_xx`, `u(0, x) = -sin(pi x)`, `u(t, -1) = u(t, 1) = 0`,
    for `t` from 0 to 1.

    The equation of `vrba.problems.Burgers`, without its ansatz. A front of thickness
    about `4 viscosity` forms at the centre near `t = 0.5`.

    Good values: `viscosity = 0.01 / pi`, the usual test.
    """

    viscosity: float = 0.01 / math.pi
    domain = Box(t=(0, 1), x=(-1, 1))

    def __check_init__(self):
        check_positive(viscosity=self.viscosity)

    @override
    def equations(self, u, t, x):
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    @override
    def conditions(self):
        return [Initial(lambda x: -jnp.sin(jnp.pi * x)), Dirichlet(0.0, on="x")]

    @override
    def reference(self) -> Reference:
        """Return the Cole-Hopf solution on 201 x 513 points, with its error."""
        return Burgers(self.viscosity).reference()
