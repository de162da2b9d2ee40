"""An operator without data: from the initial values of a flow to the flow.

`vrba solve examples/operator_from_equation.py --minutes 2`: `solution(t, x, c1, ...)`.
"""

import jax.numpy as jnp
import numpy as np

from vrba import Ansatz, Box, Problem
from vrba.models import PhysicsInformedDeepONet

NAMES = ("c1", "c2", "c3", "c4")  # coefficients of the initial values


def series(x, c, fn=jnp.sin):
    """The sum of `c_k sin(k pi x) / k^2`."""
    return sum(c[k - 1] * fn(k * np.pi * x) / k**2 for k in range(1, len(c) + 1))


class AnyBurgers(Problem):
    viscosity: float = 0.1
    domain = Box(t=(0, 1), x=(0, 1), **dict.fromkeys(NAMES, (-1, 1)))
    model = PhysicsInformedDeepONet(coefficients=NAMES)

    def equations(self, u, *coordinates):
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    def conditions(self):  # initial values, and zero at both ends
        return [Ansatz(lambda t, x, *c: series(x, c[:-1]) + t * x * (1 - x) * c[-1])]

    def reference(self):  # a ratio of integrals over s (Cole 1951, Hopf 1950)
        def exact(t, x, *c):
            integral, above, below = [c[k] / (k + 1) / np.pi for k in range(4)], 0, 0
            for s in np.linspace(-6, 6, 61):
                y = x - np.sqrt(4 * self.viscosity * t) * s
                mass = np.exp(series(y, integral, np.cos) / 2 / self.viscosity - s**2)
                above, below = above + mass * series(y, c, np.sin), below + mass
            return above / below

        return exact
