"""A hill that a rotating flow carries around, with weak diffusion."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from typing_extensions import override

from vrba.core import check_positive
from vrba.domains import Box
from vrba.problems import Dirichlet, Initial, Problem, Reference, exact_reference

_WIDTH, _RADIUS = 0.1, 0.5


class RotatingHill(Problem):
    """`u_t - y u_x + x u_y = diffusion (u_xx + u_yy)` on the square from -1 to 1, for
    `t` from 0 to pi.

    The solution is a Gaussian of width 0.1, which starts at `x = 0.5` and moves around
    the origin by half a turn. Its variance grows by `2 diffusion t`. It gives the
    initial values and the values on all sides, which are below 1e-4. Convection is
    stronger than diffusion by the factor `1 / diffusion`.

    Good values: `diffusion = 1e-3`.
    """

    diffusion: float = 1e-3
    domain = Box(t=(0, np.pi), x=(-1, 1), y=(-1, 1))

    def __check_init__(self):
        check_positive(diffusion=self.diffusion)

    @override
    def equations(self, u, t, x, y):
        transport = u.t - y * u.x + x * u.y
        return {"transport": transport - self.diffusion * (u.xx + u.yy)}

    @override
    def conditions(self):
        exact = lambda t, x, y: _hill(jnp, t, x, y, self.diffusion)
        start = Initial(lambda x, y: exact(0.0, x, y))
        return [start, *(Dirichlet(exact, on=name) for name in ("x", "y"))]

    @override
    def reference(self) -> Reference:
        """Return the exact solution on 13 x 61 x 61 points.

        The error is the difference from extended precision.
        """
        fn = lambda t, x, y: _hill(np, t, x, y, self.diffusion)
        return exact_reference(self.domain, fn, 13, 61, 61)


def _hill(xp: Any, t: Any, x: Any, y: Any, diffusion: float) -> Any:
    """Evaluate the solution, with `numpy` or `jax.numpy` as `xp`."""
    variance = _WIDTH**2 + 2 * diffusion * t
    across, along = x - _RADIUS * xp.cos(t), y - _RADIUS * xp.sin(t)
    square = (across**2 + along**2) / (2 * variance)
    return _WIDTH**2 / variance * xp.exp(-square)
