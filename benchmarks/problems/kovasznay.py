"""Kovasznay flow: the steady flow behind a grid, with an exact solution."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Dirichlet, Problem, Reference


class Kovasznay(Problem):
    """`(u, v) . grad (u, v) + grad p = lap (u, v) / reynolds`, `u_x + v_y = 0`, for `x`
    from -0.5 to 1 and `y` from -0.5 to 1.5.

    The solution is that of Kovasznay (1948): `u = 1 - e^(rate x) cos(2 pi y)`,
    `v = rate e^(rate x) sin(2 pi y) / (2 pi)`, `p = (1 - e^(2 rate x)) / 2`, with the
    negative root `rate` of `rate^2 - reynolds rate = 4 pi^2`. Both velocities are given
    on all sides, the pressure at `x = 1`.

    Good values: `reynolds = 40`. The vortices decay more slowly with larger ones.
    """

    reynolds: float = 40.0
    fields = ("u", "v", "p")
    domain = Box(x=(-0.5, 1), y=(-0.5, 1.5))

    def __check_init__(self):
        check_positive(reynolds=self.reynolds)

    @override
    def equations(self, u, v, p, x, y):
        return {
            "momentum x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / self.reynolds,
            "momentum y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / self.reynolds,
            "mass": u.x + v.y,
        }

    @override
    def conditions(self):
        def boundary(field: str, on: str, at: float | None = None) -> Dirichlet:
            value = lambda x, y: _solution(jnp, x, y, self.reynolds)[field]
            return Dirichlet(value, on=on, at=at, field=field)

        velocity = [boundary(field, on) for field in ("u", "v") for on in ("x", "y")]
        return [*velocity, boundary("p", "x", at=1.0)]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 151 x 201 points.

        The error is the difference from extended precision.
        """
        solution = lambda x, y: _solution(np, x, y, self.reynolds)
        found = Reference.from_function(self.domain, solution, (151, 201))
        finer = solution(*found.points().T.astype(np.longdouble))
        values = np.stack([found.values[name].ravel() for name in self.fields])
        exact = np.stack([finer[name] for name in self.fields])
        difference = np.linalg.norm(values - exact) / np.linalg.norm(exact)
        error = max(float(difference), float(np.finfo(float).eps))
        return dataclasses.replace(found, error=error)


def _solution(xp: Any, x: Any, y: Any, reynolds: float) -> dict[str, Any]:
    """Evaluate the fields, with `numpy` or `jax.numpy` as `xp`."""
    half = reynolds / 2
    rate = -4 * math.pi**2 / (half + math.sqrt(half**2 + 4 * math.pi**2))
    size, angle = xp.exp(rate * x), 2 * math.pi * y
    return {
        "u": 1 - size * xp.cos(angle),
        "v": rate / (2 * math.pi) * size * xp.sin(angle),
        "p": (1 - size**2) / 2 + 0 * y,
    }
