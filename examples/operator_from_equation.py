"""An operator without data: from any start of a flow to the flow, by its equation.

`vrba solve examples/operator_from_equation.py --minutes 2`, or `python ...`.
"""

import jax.numpy as jnp
import numpy as np

from vrba import AbstractProblem, Ansatz, Box, Branched, solve

NAMES = ("c1", "c2", "c3", "c4")  # coordinates like any other, that say which start


def series(x, c, fn=jnp.sin):
    """`c1 sin(pi x) + c2 sin(2 pi x) / 2 + ...`"""
    return sum(c[k - 1] * fn(k * np.pi * x) / k for k in range(1, len(c) + 1))


class AnyBurgers(AbstractProblem):
    viscosity: float = 0.1
    domain = Box(t=(0, 1), x=(0, 1), **dict.fromkeys(NAMES, (-1, 1)))
    model = Branched(coefficients=NAMES)

    def equations(self, u, *coordinates):
        return {"momentum": u.t + u * u.x - self.viscosity * u.xx}

    def conditions(self):  # the start, and rest at both ends
        return [Ansatz(lambda t, x, *c: series(x, c[:-1]) + t * x * (1 - x) * c[-1])]

    def reference(self):
        return self.exact

    def exact(self, t, x, *c):
        above = below = 0.0
        slopes = [c[k] / (k + 1) / np.pi for k in range(len(c))]
        for s, weight in zip(*np.polynomial.hermite.hermgauss(80)):
            y = x - np.sqrt(4 * self.viscosity * t) * s
            mass = weight * np.exp(series(y, slopes, np.cos) / 2 / self.viscosity)
            above, below = above + mass * series(y, c, np.sin), below + mass
        return above / below
