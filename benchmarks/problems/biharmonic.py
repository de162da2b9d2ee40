"""A clamped plate: the biharmonic equation, of fourth order."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.domains import Box
from vrba.problems import Dirichlet, Neumann, Problem, Reference


class Biharmonic(Problem):
    """`u_xxxx + 2 u_xxyy + u_yyyy = f`, `u = du/dn = 0` on the unit square's boundary.

    The deflection of a clamped plate under a load. The source
    `f = 4 pi^4 (4 cos(2 pi x) cos(2 pi y) - cos(2 pi x) - cos(2 pi y))` gives the
    solution `u = sin(pi x)^2 sin(pi y)^2`. The equation is much larger than the
    conditions: the source reaches 2,300, the solution one.
    """

    domain = Box(x=(0, 1), y=(0, 1))

    @override
    def equations(self, u, x, y):
        wave_x, wave_y = jnp.cos(2 * jnp.pi * x), jnp.cos(2 * jnp.pi * y)
        load = 4 * jnp.pi**4 * (4 * wave_x * wave_y - wave_x - wave_y)
        return {"load": u.xxxx + 2 * u.xxyy + u.yyyy - load}

    @override
    def conditions(self):
        values = [Dirichlet(0.0, on=name) for name in self.domain.coordinates]
        return values + [Neumann(0.0, on=name) for name in self.domain.coordinates]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 201 x 201 points.

        The error is the difference from extended precision.
        """
        found = Reference.from_function(self.domain, _solution, (201, 201))
        finer = _solution(*found.points().T.astype(np.longdouble))
        gap = found.values.ravel() - finer
        difference = np.linalg.norm(gap) / np.linalg.norm(finer)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _solution(x: Any, y: Any) -> Any:
    return np.sin(np.pi * x) ** 2 * np.sin(np.pi * y) ** 2
